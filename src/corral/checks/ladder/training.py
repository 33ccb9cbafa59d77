"""Rungs 9 and 10: an all-reduce that is right and fast enough, and a small training that converges.

Both run on torch, where there is an environment that has it; over GPUs where they are real, else over CPUs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from corral.checks.finding import Finding
from corral.checks.ladder import kinds
from corral.checks.ladder.jobs import Answer, Job
from corral.checks.ladder.kinds import finding
from corral.checks.ladder.rung import Outcome, judged
from corral.checks.ladder.site import Site
from corral.checks.ladder.thresholds import Thresholds
from corral.checks.ladder.words import rate

_TIMEOUT_S = 240.0
_BUDGET_S = 1.0
_LEAST_BYTES, _MOST_BYTES = 1 << 20, 64 << 20
_STEPS = 40
_FALLS_TO = 0.25
"""Of its first value: the share that the loss must fall to."""


async def allreduce(site: Site) -> Outcome:
    """Judged by what TCP carried between the slowest pair, which every ring must pass."""
    if why := _not_possible(site):
        return Outcome("skipped", why, stop=why)
    raw_bit_s = site.slowest_bit_s
    answer = await _proof(site)
    if answer.busy:
        return Outcome("skipped", "other jobs came in between", stop="the nodes became busy")
    total = _told(answer, "total")
    if total is None:
        what = f"the job failed: {answer.words}"
        failed = judged([finding(kinds.ALLREDUCE_WRONG, site.cluster.spec.name, what)], "")
        return replace(failed, stop="an all-reduce does not work")
    reached = bus_bit_s(total["size_bytes"], total["time_s"], total["ranks"])
    found = judge_total(site.cluster.spec.name, total, raw_bit_s, site.thresholds)
    numbers = {**total, "bus_bit_s": reached, "tcp_bit_s": raw_bit_s}
    share = f", {reached / raw_bit_s:.0%} of TCP's {rate(raw_bit_s)}" if raw_bit_s else ""
    fine = f"{_size(total['size_bytes'])} on {total['ranks']} nodes ({total['backend']}): right, {rate(reached)}{share}"
    outcome = judged(found, fine, numbers)
    stop = "an all-reduce gives wrong sums" if total["wrong"] else ""
    return replace(outcome, stop=stop)


def judge_total(cluster: str, total: Mapping[str, Any], raw_bit_s: float, limits: Thresholds) -> list[Finding]:
    """The sum on every rank, then its speed."""
    if total["wrong"]:
        what = f"{total['wrong']} of {total['size_bytes'] // 4} sums are wrong on some rank ({total['backend']})"
        return [finding(kinds.ALLREDUCE_WRONG, cluster, what)]
    reached = bus_bit_s(total["size_bytes"], total["time_s"], total["ranks"])
    least = limits.least_allreduce_bit_s(raw_bit_s, total["backend"])
    if reached >= least:
        return []
    what = f"it reached {rate(reached)}, at least {rate(least)} expected where TCP carries {rate(raw_bit_s)}"
    return [finding(kinds.ALLREDUCE_SLOW, cluster, what)]


def bus_bit_s(size_bytes: int, time_s: float, ranks: int) -> float:
    """What each link carried, by the formula of nccl-tests."""
    return 8 * size_bytes / time_s * 2 * (ranks - 1) / ranks


def size_for(raw_bit_s: float, nodes: int) -> int:
    """As much as a ring moves in half a second, so that a slow link does not keep everybody waiting."""
    moved = raw_bit_s / 8 * 0.5 * nodes / (2 * (nodes - 1))
    return int(min(max(moved, _LEAST_BYTES), _MOST_BYTES)) // 4 * 4


async def training(site: Site) -> Outcome:
    """Data-parallel training with one process per node."""
    if why := _not_possible(site):
        return Outcome("skipped", why)
    answer = await _proof(site)
    if answer.busy:
        return Outcome("skipped", "other jobs came in between")
    losses = [(int(one["step"]), float(one["loss"])) for one in answer.records if one["kind"] == "loss"]
    end = _told(answer, "end")
    found = judge_training(site.cluster.spec.name, losses, end, answer)
    same = end is not None and len(set(end["digests"])) == 1
    numbers = {"losses": [list(one) for one in losses], "same_parameters": same}
    if found or end is None:
        return judged(found, "", numbers)
    fine = f"loss {losses[0][1]:.2f} → {losses[-1][1]:.3f} in {losses[-1][0]} steps and {end['seconds']:.1f} s"
    return Outcome("passed", f"{fine}, the same parameters on all nodes", (), numbers)


def judge_training(
    cluster: str, losses: Sequence[tuple[int, float]], end: Mapping[str, Any] | None, answer: Answer
) -> list[Finding]:
    """It ran to its end, learned, and everybody learned the same."""
    if end is None or not losses:
        return [finding(kinds.TRAINING, cluster, f"the job failed: {answer.words}")]
    if len(set(end["digests"])) > 1:
        return [finding(kinds.TRAINING, cluster, f"the {end['ranks']} nodes ended with different parameters")]
    first, last = losses[0][1], losses[-1][1]
    # Written so that a loss that is no number fails, too.
    if not last <= _FALLS_TO * first:
        what = f"the loss went from {first:.3g} to {last:.3g} in {losses[-1][0]} steps"
        return [finding(kinds.TRAINING, cluster, what)]
    return []


async def _proof(site: Site) -> Answer:
    """The job of both rungs: whoever comes first sends it."""
    if site.proof is None:
        names = site.together
        real = all(site.gpus(name) and not site.cluster.nodes[name].facts.gpus_are_simulated for name in names)
        gauge = f"proof {size_for(site.slowest_bit_s, len(names))} {_BUDGET_S} {_STEPS}"
        job = Job(gauge, names, gpus=1 if real else 0, whole_nodes=True, python=site.python)
        (site.proof,) = await site.jobs.run([job], timeout_s=_TIMEOUT_S)
    return site.proof


def _told(answer: Answer, kind: str) -> dict[str, Any] | None:
    return next((record for record in answer.records if record["kind"] == kind), None)


def _not_possible(site: Site) -> str:
    if len(site.together) < 2:
        return "only one node can take a job" if len(site.nodes) > 1 else "there is only one node"
    return site.no_python


def _size(size_bytes: int) -> str:
    return f"{size_bytes / (1 << 20):.3g} MiB"
