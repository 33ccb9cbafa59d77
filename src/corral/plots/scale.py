"""From values to places on an axis, and ticks at numbers that people like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_NICE = (1, 2, 2.5, 5, 10)
_SUFFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True, slots=True)
class Scale:
    """One axis: what it begins and ends with, and the values that are written beside it."""

    low: float
    high: float
    log: bool
    ticks: tuple[float, ...]
    names: tuple[str, ...]
    """What is written at the ticks."""

    def place(self, value: float) -> float:
        """Where a value lies, from 0 (the axis' beginning) to 1."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def axis(values: Sequence[float], *, log: bool = False, wanted: int = 5, zero: bool = False) -> Scale:
    """An axis for these values with about as many ticks as wanted; `zero` makes 0 part of it."""
    low, high = (min(values), max(values)) if values else (1.0, 10.0) if log else (0.0, 1.0)
    if log:
        return _logarithmic(low, high, wanted)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        margin = abs(low) / 2 or 0.5
        low, high = low - margin, high + margin
    step = _nice_step((high - low) / max(wanted, 1))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(number * step for number in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], False, ticks, tuple(tick_name(tick, step) for tick in ticks))


def named_axis(names: Sequence[str]) -> Scale:
    """An axis with a name at 0, 1, 2 … and some air on both sides."""
    return Scale(-0.5, max(len(names), 1) - 0.5, False, tuple(float(n) for n in range(len(names))), tuple(names))


def tick_name(value: float, step: float) -> str:
    """The shortest text that tells a tick from its neighbours."""
    if abs(value) < step / 1e6:
        return "0"
    size = abs(value)
    if size < 1e-3 or size >= 1e15:
        return _scientific(value)
    for unit, suffix in _SUFFIXES:
        if size >= unit * (10 if unit == 1e3 else 1):
            return f"{_fixed(value / unit, step / unit)}{suffix}"
    return _fixed(value, step)


def _scientific(value: float) -> str:
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def _fixed(value: float, step: float) -> str:
    digits = min(max(0, -math.floor(math.log10(step) + 1e-9)) + 1, 12)
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _nice_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(nice for nice in _NICE if nice * power >= rough * 0.999) * power


def _logarithmic(low: float, high: float, wanted: int) -> Scale:
    if high / low < 1.0001:
        low, high = low / 2, high * 2
    margin = (high / low) ** 0.03
    low, high = low / margin, high * margin
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    inside = [tick for tick in _decades(first, last, (1,)) if low <= tick <= high]
    if len(inside) < 3:
        inside = [tick for tick in _decades(first, last, (1, 2, 5)) if low <= tick <= high]
    if len(inside) < 2:
        near = axis((low, high), wanted=wanted)
        inside = [tick for tick in near.ticks if low <= tick <= high]
    inside = inside[:: max(1, math.ceil(len(inside) / (2 * wanted)))]
    return Scale(low, high, True, tuple(inside), tuple(tick_name(tick, tick / 10) for tick in inside))


def _decades(first: int, last: int, multiples: Sequence[int]) -> list[float]:
    # Written and read as decimals: 10.0 ** -5 is not 1e-05.
    return [float(f"{multiple}e{power}") for power in range(first, last + 1) for multiple in multiples]
