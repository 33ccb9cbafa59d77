"""Charts as text: lines in braille dots, points as marks, bars in blocks.

The result is spans that know their series, so whoever prints them chooses the colours, or none.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from corral.plots.chart import Chart, Kind, colour_numbers
from corral.plots.scale import Scale, axis, named_axis

MARKS = "●▲■◆✚✖★▼"
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Braille's dots by row and column of a cell."""
_EIGHTHS = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line; `colour` counts the legend's series, None is for axes and words, -1 for muted series."""

    text: str
    colour: int | None = None


Line = tuple[Span, ...]


def draw(chart: Chart, width: int = 72, height: int = 16) -> list[Line]:
    """The chart in `width` columns; `height` is that of the plot itself."""
    head = [(Span(chart.title),)] if chart.title else []
    if not chart.points:
        return [*head, (Span("  nothing to plot yet"),)]
    body = _bars(chart, width) if chart.kind is Kind.BAR else _plane(chart, width, height)
    return [*head, *body, *_legend(chart, width)]


def as_text(lines: list[Line]) -> str:
    """The lines without colours."""
    return "".join("".join(span.text for span in line).rstrip() + "\n" for line in lines)


def _plane(chart: Chart, width: int, height: int) -> list[Line]:
    y = axis([point[1] for point in chart.points], log=chart.y_log, wanted=max(2, height // 3))
    gutter = max(len(name) for name in y.names) + 1
    columns = max(10, width - gutter - 1)
    x = _x_axis(chart, columns)
    canvas = _Canvas(columns, height)
    order = sorted(zip(chart.series, colour_numbers(chart), strict=True), key=lambda pair: not pair[0].muted)
    for series, colour in order:
        places = [(x.place(a), y.place(b)) for a, b in series.points if chart.drawable((a, b))]
        if chart.kind is Kind.LINE and len(places) > 1:
            for start, end in pairwise(places):
                canvas.line(start, end, -1 if colour is None else colour)
        else:
            mark = "·" if colour is None else MARKS[colour % len(MARKS)]
            for place in places:
                canvas.mark(place, mark, -1 if colour is None else colour)
    named_rows = {canvas.row(y.place(tick)): name for tick, name in zip(y.ticks, y.names, strict=True)}
    lines: list[Line] = [(Span(" " * gutter + chart.y_label),)] if chart.y_label else []
    for row in range(height):
        name = named_rows.get(row, "")
        lines.append((Span(f"{name:>{gutter - 1}} {'┤' if name else '│'}"), *canvas.spans(row)))
    return [*lines, *_x_lines(x, gutter, columns, chart.x_label)]


def _x_axis(chart: Chart, columns: int) -> Scale:
    if chart.x_names:
        return named_axis(chart.x_names)
    return axis([point[0] for point in chart.points], log=chart.x_log, wanted=max(2, columns // 12))


def _x_lines(x: Scale, gutter: int, columns: int, label: str) -> list[Line]:
    """The axis, the names under it as far as they have room, and its label."""
    rule, names = ["─"] * columns, [" "] * (columns + gutter)
    free_from = 0
    for tick, name in zip(x.ticks, x.names, strict=True):
        column = min(columns - 1, max(0, round(x.place(tick) * (columns - 1))))
        start = min(max(0, column + gutter + 1 - len(name) // 2), columns + gutter - len(name))
        if start < free_from:
            continue
        rule[column] = "┬"
        names[start : start + len(name)] = name
        free_from = start + len(name) + 2
    lines: list[Line] = [(Span(" " * gutter + "└" + "".join(rule)),), (Span("".join(names)),)]
    if label:
        lines.append((Span(" " * (gutter + 1) + label.center(columns).rstrip()),))
    return lines


def _bars(chart: Chart, width: int) -> list[Line]:
    """Horizontal bars from zero, with their values behind them."""
    shown = [(series, number) for series, number in zip(chart.series, colour_numbers(chart), strict=True)]
    values = [value for _, value in chart.points]
    texts = {value: f"{value:.4g}" for value in values}
    gutter = min(max(len(name) for name in chart.x_names), width // 3)
    room = max(8, width - gutter - 4 - max(len(text) for text in texts.values()))
    longest = max(max(values), 0.0) or 1.0
    lines: list[Line] = [(Span(" " * (gutter + 2) + chart.y_label),)] if chart.y_label else []
    for position, name in enumerate(chart.x_names):
        label = name if len(name) <= gutter else name[: gutter - 1] + "…"
        for series, number in shown:
            for at, value in series.points:
                if at == position and chart.drawable((at, value)):
                    eighths = round(max(value, 0.0) / longest * room * 8)
                    bar = "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
                    colour = -1 if number is None else number
                    lines.append((Span(f"{label:>{gutter}} │"), Span(bar, colour), Span(f" {texts[value]}")))
                    label = ""
    return lines


def _legend(chart: Chart, width: int) -> list[Line]:
    lines: list[list[Span]] = [[]]
    used = 0
    for number, series in enumerate(chart.in_legend):
        mark = MARKS[number % len(MARKS)] if chart.kind is Kind.SCATTER else "━" if chart.kind is Kind.LINE else "█"
        if used and used + len(series.name) + 4 > width:
            lines.append([])
            used = 0
        lines[-1] += [Span(f"  {mark} ", number), Span(series.name)]
        used += len(series.name) + 4
    return [tuple(line) for line in lines if line]


class _Canvas:
    """Cells of the plot: dots of lines share a cell, a mark has it for itself."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self._dots: dict[tuple[int, int], int] = {}
        self._marks: dict[tuple[int, int], str] = {}
        self._colours: dict[tuple[int, int], int] = {}

    def row(self, place: float) -> int:
        return self.rows - 1 - min(self.rows - 1, max(0, round(place * (self.rows - 1))))

    def mark(self, place: tuple[float, float], mark: str, colour: int) -> None:
        cell = (self.row(place[1]), min(self.columns - 1, max(0, round(place[0] * (self.columns - 1)))))
        self._marks[cell], self._colours[cell] = mark, colour

    def line(self, start: tuple[float, float], end: tuple[float, float], colour: int) -> None:
        across, up = self.columns * 2 - 1, self.rows * 4 - 1
        x0, y0 = round(start[0] * across), round((1 - start[1]) * up)
        x1, y1 = round(end[0] * across), round((1 - end[1]) * up)
        steps = max(1, abs(x1 - x0), abs(y1 - y0))
        for step in range(steps + 1):
            x, y = round(x0 + (x1 - x0) * step / steps), round(y0 + (y1 - y0) * step / steps)
            cell = (y // 4, x // 2)
            # Context gives way, so that the lines that matter stay readable.
            shared = self._dots.get(cell, 0) if colour < 0 or self._colours.get(cell) != -1 else 0
            self._dots[cell] = shared | _DOTS[y % 4][x % 2]
            self._colours[cell] = colour

    def spans(self, row: int) -> list[Span]:
        found: list[Span] = []
        for column in range(self.columns):
            cell = (row, column)
            text = self._marks.get(cell) or (chr(0x2800 + self._dots[cell]) if cell in self._dots else " ")
            colour = self._colours.get(cell)
            if found and found[-1].colour == colour:
                found[-1] = Span(found[-1].text + text, colour)
            else:
                found.append(Span(text, colour))
        return found
