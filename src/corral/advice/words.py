"""What to do, in plain words: the recommendation, and from where on DDP pays."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from corral.advice.case import Case, mode_name
from corral.inside.cost import BF16, DDP, LOCAL, POWERSGD, Mode, Prediction, scaled

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_MOST_TIMES = 1 << 20
_ENOUGH = 0.95
"""A local mode this close to the best is not made to exchange even less."""

_LOCAL = tuple(replace(LOCAL, every=every, bits=bits) for every in (50, 100, 200, 500) for bits in (32, 8, 4))


@dataclass(frozen=True, slots=True)
class Pays:
    """From where on DDP reaches the target; None where it never does."""

    batch: int | None
    accumulate: int | None


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The mode for one training on all nodes, or None where none pays, and what to say about it."""

    best: Prediction | None
    pays: Pays
    words: tuple[str, ...]


def recommend(case: Case) -> Recommendation:
    """What to do with the nodes."""
    best = best_mode(case)
    pays = Pays(_batch(case), _accumulate(case))
    several = (
        f"For several trainings: run {number(case.nodes)} independent experiments, one per node: always {case.nodes}×."
    )
    if best is None:
        fastest = max((case.predict(mode) for mode in (DDP, BF16, POWERSGD, *_LOCAL)), key=lambda one: one.speedup)
        no = (
            f"No mode makes one training pay on {nodes(case.nodes)}: "
            f"the best, {mode_name(fastest.mode)}, reaches {times(fastest)}."
        )
        return Recommendation(
            None, pays, (several.replace("For several trainings: run", "Run"), no, _about_ddp(case, pays))
        )
    one = f"For one training: {_use(best.mode)}: {times(best)} on {nodes(case.nodes)}.{_caveat(best.mode)}"
    return Recommendation(best, pays, (one, several, _about_ddp(case, pays)))


def best_mode(case: Case) -> Prediction | None:
    """The mode that changes the training least among those that pay; of those that change it alike, the fastest."""
    for mode in (DDP, BF16):
        found = case.predict(mode)
        if found.efficiency >= case.target:
            return found
    local = [case.predict(mode) for mode in _LOCAL]
    enough = next((one for one in local if one.efficiency >= _ENOUGH), max(local, key=lambda one: one.speedup))
    found = max(case.predict(POWERSGD), enough, key=lambda one: one.speedup)
    return found if found.efficiency >= case.target else None


def number(count: int) -> str:
    """A small number as a word."""
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)


def nodes(count: int) -> str:
    return f"{number(count)} node{'s' if count != 1 else ''}"


def times(found: Prediction) -> str:
    """The speed-up, never more than it is; small ones keep two digits."""
    return f"{math.floor(10 * found.speedup) / 10:.1f}×" if found.speedup >= 1 else f"{found.speedup:.2g}×"


def _use(mode: Mode) -> str:
    if mode.name == "local":
        bits = f" and {mode.bits}-bit exchange" if mode.bits != 32 else ""
        return f"use local steps with H={mode.every}{bits}"
    return {"ddp": "use DDP with lanes", "bf16": "use DDP with bf16 gradients"}.get(
        mode.name, f"use PowerSGD of rank {mode.rank}"
    )


def _caveat(mode: Mode) -> str:
    if mode.name == "local":
        return " It is another optimisation than DDP's: docs/training.md has the losses side by side."
    if mode.name == "powersgd":
        return " Gradients are approximated: docs/training.md has the losses side by side."
    return ""


def _about_ddp(case: Case, pays: Pays) -> str:
    found = case.predict(DDP)
    target = f"{case.target:.0%}"
    now = f"DDP with lanes at batch {case.work.batch} per node: {times(found)} ({found.efficiency:.0%} efficiency)."
    if found.efficiency >= case.target:
        return f"{now} It pays ({target}) from batch {pays.batch} on."
    if pays.batch is None:
        return f"{now} It never reaches {target} on this link."
    return (
        f"{now} It pays ({target}) from batch {pays.batch} per node, if that fits the GPU, "
        f"or where {pays.accumulate} steps' gradients are added up before an exchange."
    )


def _batch(case: Case) -> int | None:
    """The smallest batch per node at which DDP reaches the target, where a step's time grows with its batch."""

    def reached(batch: int) -> bool:
        work = scaled(case.work, batch / case.work.batch)
        return replace(case, work=work).predict(DDP).efficiency >= case.target

    low, high = 0, case.work.batch * _MOST_TIMES
    if not reached(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _accumulate(case: Case) -> int | None:
    exposed_s = case.predict(DDP).exposed_s
    if not math.isfinite(exposed_s):
        return None
    return max(1, math.ceil(exposed_s * case.target / (1 - case.target) / case.work.step_s - 1e-9))
