"""What a job has printed: all of it, its end, or as it comes, for jobs that came from Corral and for any other."""

from __future__ import annotations

import asyncio
import base64
import shlex
from collections.abc import AsyncIterator
from dataclasses import dataclass

from corral.errors import CorralError, InputError
from corral.jobs.desk import Desk
from corral.jobs.find import Found, unit_of
from corral.jobs.ledger import LIVE_STATES
from corral.jobs.outcome import Unit

_CHUNK = 1024 * 1024
_POLL_S = 1.0
_PART = "\x1e"


class NoOutput(CorralError):
    """There is nothing to show of the job, yet or any more."""


@dataclass(frozen=True, slots=True)
class Log:
    """A file that a job writes to."""

    label: str
    user: str
    path: str
    unit: Unit | None
    """Of a job that came from Corral."""
    rank: int | None
    state: str
    """Slurm's word for it; empty where Slurm has forgotten it."""


async def log_of(desk: Desk, found: Found, rank: int | None) -> Log:
    """Where a job's output is."""
    state = found.tasks[-1].state if found.tasks else ""
    if found.folder is not None:
        unit = unit_of(found)
        path = unit.log if rank is None else unit.folder.rank_log(rank, unit.trial)
        return Log(found.label, found.user, path, unit, rank, state)
    if rank is not None:
        raise InputError(f"job {found.label} was not sent by Corral: it has one log for all ranks")
    shown = await desk.run(f"scontrol -o show job {found.label} | sed -n 's/.* StdOut=\\([^ ]*\\).*/\\1/p' | head -n 1")
    if not shown.stdout.strip():
        raise NoOutput(f"job {found.label} was not sent by Corral, and Slurm no longer knows where its output went")
    return Log(found.label, found.user, shown.stdout.strip(), None, None, state)


async def read(desk: Desk, log: Log, lines: int | None) -> AsyncIterator[bytes]:
    """The output so far, or its last lines, in pieces."""
    path = shlex.quote(log.path)
    if lines is not None:
        yield await _bytes(desk, log, f"tail -n {lines} {path}")
        return
    offset = 0
    while True:
        piece = await _bytes(desk, log, f"tail -c +{offset + 1} {path} | head -c {_CHUNK}")
        yield piece
        offset += len(piece)
        if len(piece) < _CHUNK:
            return


async def follow_other(desk: Desk, log: Log) -> AsyncIterator[bytes]:
    """The output of a job that did not come from Corral as it comes, until it has ended."""
    path, offset = shlex.quote(log.path), 0
    while True:
        # The state is asked for first: what it printed before its end is then never missed.
        said = await desk.must(
            f'squeue -h -t all -j {log.label} -o %T 2>/dev/null | tail -n 1 | {{ read -r state; echo "$state"; }}\n'
            f"[ ! -r {path} ] || tail -c +{offset + 1} {path} | head -c {_CHUNK} | base64"
        )
        state, _, rest = said.partition("\n")
        piece = base64.b64decode(rest)
        offset += len(piece)
        yield piece
        if not piece and state not in LIVE_STATES:
            return
        await asyncio.sleep(0 if len(piece) == _CHUNK else _POLL_S)


async def _bytes(desk: Desk, log: Log, command: str) -> bytes:
    path, folder = shlex.quote(log.path), shlex.quote(log.path.rpartition("/")[0])
    script = f"""
if [ -r {path} ]; then {command} | base64; exit; fi
if [ -e {path} ] || {{ [ -e {folder} ] && [ ! -x {folder} ]; }}; then echo '{_PART}denied'; else echo '{_PART}none'; fi
{"true" if log.rank is None else f"ls {folder} 2>/dev/null"} | sed -n 's/\\.log$//p' | sort -n | tr '\\n' ' '
"""
    said = await desk.must(script, timeout_s=120)
    if said.startswith(_PART):
        why, _, ranks_there = said[1:].partition("\n")
        raise _no_output(desk, log, why, ranks_there.split())
    return base64.b64decode(said)


def _no_output(desk: Desk, log: Log, why: str, ranks: list[str]) -> CorralError:
    rank = log.rank
    if log.user != desk.user and log.state != "PENDING":
        # Whether it is there cannot be seen from outside.
        return NoOutput(f"job {log.label} is {log.user}'s, and its output can only be read by {log.user}")
    if rank is not None and ranks:
        return InputError(f"job {log.label} has no rank {rank}; it has: {', '.join(ranks)}")
    if rank is not None and log.state != "PENDING":
        return InputError(
            f"job {log.label} has no logs of ranks, as jobs with --ddp have. Try: corral logs {log.label}"
        )
    if log.state == "PENDING":
        return NoOutput(f"job {log.label} has not started yet, so it has printed nothing. Try: corral why {log.label}")
    if why == "denied":
        return NoOutput(f"job {log.label}: {log.path} cannot be read by {desk.user}")
    return NoOutput(f"job {log.label} has printed nothing: there is no {log.path}. Try: corral why {log.label}")
