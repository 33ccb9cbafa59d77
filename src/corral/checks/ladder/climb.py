"""The ladder itself: the rungs in order, and how they are climbed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import suppress

from corral.checks.ladder.gpus import gpu_jobs, overlap
from corral.checks.ladder.network import hello, pairs
from corral.checks.ladder.rung import Outcome, Result, Rung
from corral.checks.ladder.site import Site
from corral.checks.ladder.standing import daemons, nodes, trust
from corral.checks.ladder.storage import storage
from corral.checks.ladder.training import allreduce, training
from corral.errors import HostError

RUNGS: tuple[Rung, ...] = (
    Rung("daemons", "daemons and versions", daemons, needed=True),
    Rung("munge", "munge and clocks", trust, needed=True),
    Rung("nodes", "nodes and their GPUs", nodes, needed=True),
    Rung("storage", "shared storage", storage),
    Rung("gpus", "one GPU per job", gpu_jobs),
    Rung("overlap", "jobs side by side", overlap),
    Rung("hello", "one job on all nodes", hello),
    Rung("pairs", "every pair of nodes", pairs),
    Rung("allreduce", "all-reduce", allreduce, needs=("pairs",)),
    Rung("training", "a small training", training),
)
QUICK = ("daemons", "munge", "nodes", "storage", "gpus")
"""What is asked at the end of `up`: it takes about a second."""

OnRung = Callable[[Rung, Result | None], None]
"""Told of each rung when it is begun, and again with its result."""


async def climb(site: Site, only: Collection[str], on_rung: OnRung) -> list[Result]:
    """Climb the wanted rungs, and those that they cannot do without; only the wanted ones have results."""
    try:
        return [result async for result in _results(site, only, on_rung)]
    except BaseException:
        # Also after Ctrl-C: nothing is left behind in the queue.
        with suppress(HostError):
            await asyncio.shield(site.jobs.cancel())
        raise


async def _results(site: Site, only: Collection[str], on_rung: OnRung) -> AsyncIterator[Result]:
    stop = ""
    for rung in RUNGS:
        wanted = rung.name in only
        if not wanted and (stop or not _needed(rung, only)):
            continue
        if wanted:
            on_rung(rung, None)
        began = time.monotonic()
        outcome = Outcome("skipped", f"not tried: {stop}") if stop else await rung.climb(site)
        stop = stop or outcome.stop
        if wanted:
            result = _result(rung, outcome, time.monotonic() - began)
            on_rung(rung, result)
            yield result


def _needed(rung: Rung, only: Collection[str]) -> bool:
    return rung.needed or any(rung.name in other.needs for other in RUNGS if other.name in only)


def _result(rung: Rung, outcome: Outcome, seconds: float) -> Result:
    return Result(
        rung.name, rung.title, outcome.status, outcome.summary, seconds, tuple(outcome.findings), outcome.numbers
    )
