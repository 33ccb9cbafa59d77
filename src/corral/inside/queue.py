"""When transfers over one link are done: they start in order, a few run at a time and share what the link has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Transfer:
    """Bits that are ready to be sent at a time; `wait_s` passes before the first of them moves."""

    ready_s: float
    bits: float
    wait_s: float = 0.0


@dataclass(slots=True)
class _Moving:
    number: int
    wait_s: float
    bits: float


def finished_s(transfers: Sequence[Transfer], *, one_bit_s: float, all_bit_s: float, at_once: int) -> list[float]:
    """When each transfer is done: one alone moves at most at `one_bit_s`, all together at `all_bit_s`."""
    done = [math.inf] * len(transfers)
    waiting = list(enumerate(transfers))
    moving: list[_Moving] = []
    now = 0.0
    while waiting or moving:
        while waiting and len(moving) < at_once and waiting[0][1].ready_s <= now:
            number, begun = waiting.pop(0)
            moving.append(_Moving(number, begun.wait_s, begun.bits))
        rate = _rate(moving, one_bit_s, all_bit_s)
        next_start = waiting[0][1].ready_s if waiting and len(moving) < at_once else math.inf
        step = min([next_start - now, *(_left_s(one, rate) for one in moving)])
        if math.isinf(step):
            return done  # nothing moves any more
        now += step
        for one in moving:
            if one.wait_s > 0:
                one.wait_s = max(0.0, one.wait_s - step)
            else:
                one.bits -= rate * step if step else 0.0
        for one in [one for one in moving if one.wait_s <= 0 and one.bits <= 1e-6]:
            done[one.number] = now
            moving.remove(one)
    return done


def _rate(moving: Sequence[_Moving], one_bit_s: float, all_bit_s: float) -> float:
    busy = sum(one.wait_s <= 0 for one in moving)
    return min(one_bit_s, all_bit_s / busy) if busy else one_bit_s


def _left_s(one: _Moving, rate: float) -> float:
    if one.wait_s > 0:
        return one.wait_s
    if one.bits <= 1e-6:
        return 0.0
    return one.bits / rate if rate else math.inf
