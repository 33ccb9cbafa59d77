"""Random values: `0..0.5` (uniform), `log:1e-5..1e-1`, `int:2..8`, and `relu,gelu` (one of them).

Each parameter draws from a stream of its own, seeded by the sweep's seed and the parameter's name. So another parameter
or more trials leave the values that were there before, and the same command declares the same trials everywhere.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass
from typing import Protocol

from corral.errors import InputError
from corral.jobs.sweep.values import NUMBER, listed_values

_BOUNDS = re.compile(rf"({NUMBER}?)\.\.({NUMBER})")


class Distribution(Protocol):
    """Where a random parameter's values come from."""

    def at(self, position: float) -> str:
        """The value at a position drawn uniformly from [0, 1)."""


@dataclass(frozen=True, slots=True)
class Uniform:
    low: float
    high: float

    def at(self, position: float) -> str:
        return f"{self.low + position * (self.high - self.low):.6g}"


@dataclass(frozen=True, slots=True)
class LogUniform:
    low: float
    high: float

    def at(self, position: float) -> str:
        return f"{self.low * math.exp(position * math.log(self.high / self.low)):.6g}"


@dataclass(frozen=True, slots=True)
class Whole:
    low: int
    high: int

    def at(self, position: float) -> str:
        return str(self.low + int(position * (self.high - self.low + 1)))


@dataclass(frozen=True, slots=True)
class Choice:
    values: tuple[str, ...]

    def at(self, position: float) -> str:
        return self.values[int(position * len(self.values))]


def distribution(where: str, text: str) -> Distribution:
    """Read how a parameter is to be drawn."""
    kind, colon, rest = text.strip().partition(":")
    if colon and kind in ("log", "int"):
        bounds = _BOUNDS.fullmatch(rest.strip())
        if bounds is None:
            raise InputError(f"{where}: {rest!r} is no interval. Write for example {_EXAMPLES[kind]}")
        return _whole(where, *bounds.groups()) if kind == "int" else _log(where, *bounds.groups())
    bounds = _BOUNDS.fullmatch(text.strip())
    if bounds is None:
        return Choice(listed_values(where, text))
    low, high = bounds.groups()
    # Half of the people who write 2..8 mean whole numbers, the other half do not: ask rather than guess.
    if not re.search(r"[.eE]", low + high):
        raise InputError(f"{where}: write int:{low}..{high} for whole numbers, or {low}.0..{high}.0 for real ones")
    return Uniform(*_ordered(where, low, high))


_EXAMPLES = {"log": "log:1e-5..1e-1", "int": "int:2..8"}


def draws(seed: int, name: str, source: Distribution, count: int) -> list[str]:
    """The first values of a parameter's own stream."""
    # Of Python's generator only random() and seeding by a text are promised to stay the same between versions.
    stream = random.Random(f"{seed}/{name}")  # noqa: S311 (a draw, no secret)
    return [source.at(stream.random()) for _ in range(count)]


def _ordered(where: str, low: str, high: str) -> tuple[float, float]:
    if not -math.inf < float(low) < float(high) < math.inf:
        raise InputError(f"{where}: {low}..{high} is empty. The lower end comes first")
    return float(low), float(high)


def _log(where: str, low: str, high: str) -> LogUniform:
    if float(low) <= 0:
        raise InputError(f"{where}: log:{low}..{high} has to begin above 0")
    return LogUniform(*_ordered(where, low, high))


def _whole(where: str, low: str, high: str) -> Whole:
    first, last = _ordered(where, low, high)
    if first % 1 or last % 1:
        raise InputError(f"{where}: int:{low}..{high} has to begin and end with whole numbers")
    return Whole(int(first), int(last))
