"""What a chart shows, whatever it is drawn with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

Point = tuple[float, float]


class Kind(str, Enum):
    LINE = "line"
    SCATTER = "scatter"
    BAR = "bar"
    """Each name of `x_names` has a bar per series: points are (position of the name, value)."""


@dataclass(frozen=True, slots=True)
class Series:
    """Points that belong together; a muted series is context: grey, behind the others and not in the legend."""

    name: str
    points: tuple[Point, ...]
    muted: bool = False
    notes: tuple[str, ...] = ()
    """A few words on each point, which a browser shows under the mouse."""


@dataclass(frozen=True, slots=True)
class Chart:
    """One plot. Units belong into the labels: `time (s)`."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    x_log: bool = False
    y_log: bool = False
    kind: Kind = Kind.LINE
    x_names: tuple[str, ...] = ()
    """Names instead of numbers on the x axis, at 0, 1, 2 …"""

    def drawable(self, point: Point) -> bool:
        """Whether a point has a place: NaN has none, nor has zero on a logarithmic axis."""
        x, y = point
        return math.isfinite(x) and math.isfinite(y) and (x > 0 or not self.x_log) and (y > 0 or not self.y_log)

    @property
    def points(self) -> list[Point]:
        """Every point that can be drawn."""
        return [point for series in self.series for point in series.points if self.drawable(point)]

    @property
    def in_legend(self) -> tuple[Series, ...]:
        """The series to be told apart; one alone needs no legend."""
        shown = tuple(series for series in self.series if not series.muted)
        return shown if len(shown) > 1 or (len(shown) == 1 and len(self.series) > 1) else ()


def colour_numbers(chart: Chart) -> list[int | None]:
    """Which colour each series has: a number in the order of the legend, None for muted ones."""
    numbers = iter(range(len(chart.series)))
    return [None if series.muted else next(numbers) for series in chart.series]
