"""Charts as SVG that needs nothing else: no script, no font, no file; it follows the reader's light or dark theme."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from corral.plots.chart import Chart, Kind, Series, colour_numbers
from corral.plots.scale import Scale, axis, named_axis

WIDTH = 580
_PLOT_HEIGHT = 270
_RIGHT, _BOTTOM = 20, 48
_LETTER = 6.6
"""The width of an average letter at the size of the labels: enough to lay text out without measuring it."""

# Colours that people with any colour vision tell apart (after Okabe and Ito), each readable on its background.
_LIGHT = ("#0072b2", "#d55e00", "#009e73", "#b8559a", "#b07d00", "#3a9bd9", "#7a5195", "#555555")
_DARK = ("#56b4e9", "#ff9248", "#2fd4a3", "#e78ac3", "#f0c348", "#8ecbf5", "#c39bd3", "#bbbbbb")

_STYLE = (
    ".corral{font:12px system-ui,sans-serif;fill:var(--ink);"
    "--ink:#24292f;--faint:#57606a;--grid:#e4e7eb;--muted:#b8bec6;"
    + "".join(f"--c{number}:{colour};" for number, colour in enumerate(_LIGHT))
    + "}@media(prefers-color-scheme:dark){.corral{--ink:#e6edf3;--faint:#9aa4af;--grid:#2b323b;--muted:#5b6570;"
    + "".join(f"--c{number}:{colour};" for number, colour in enumerate(_DARK))
    + "}}.corral .title{font-size:15px;font-weight:600}.corral .faint{fill:var(--faint)}"
    ".corral .grid{stroke:var(--grid);stroke-width:1}.corral .axis{stroke:var(--faint);stroke-width:1}"
    ".corral .line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}"
    ".corral .thin{stroke-width:1}.corral .point{fill-opacity:.75}"
)


def svg(chart: Chart) -> str:
    """The chart as one `<svg>` element."""
    heading = _heading(chart)
    if not chart.points:
        body, bottom = [_text(16, heading[1] + 30, "nothing to plot yet", "faint")], heading[1] + 60
    elif chart.kind is Kind.BAR:
        body, bottom = _bars(chart, heading[1])
    else:
        body, bottom = _plane(chart, heading[1])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="corral" viewBox="0 0 {WIDTH} {_n(bottom)}" role="img" '
        f'aria-label="{escape(chart.title)}">\n<style>{_STYLE}</style>\n'
        + "\n".join([*heading[0], *body])
        + "\n</svg>\n"
    )


def _heading(chart: Chart) -> tuple[list[str], float]:
    """Title and legend, and where the room below them begins."""
    parts = [_text(16, 24, chart.title, "title")] if chart.title else []
    x, y = 16.0, 46.0 if chart.title else 20.0
    for number, series in enumerate(chart.in_legend):
        wide = 18 + len(series.name) * _LETTER + 14
        if x > 16 and x + wide > WIDTH - _RIGHT:
            x, y = 16.0, y + 18
        parts.append(f'<rect x="{_n(x)}" y="{_n(y - 9)}" width="10" height="10" rx="2" fill="{_colour(number)}"/>')
        parts.append(_text(x + 15, y, series.name))
        x += wide
    return parts, y + (10 if chart.in_legend else -14)


def _plane(chart: Chart, top: float) -> tuple[list[str], float]:
    y = axis([point[1] for point in chart.points], log=chart.y_log)
    x = named_axis(chart.x_names) if chart.x_names else axis([p[0] for p in chart.points], log=chart.x_log, wanted=6)
    left = 30 + max(len(name) for name in y.names) * _LETTER
    frame = _Frame(left, top + 12, WIDTH - _RIGHT - left, _PLOT_HEIGHT, x, y)
    parts = frame.axes(chart.x_label, chart.y_label)
    pairs = list(zip(chart.series, colour_numbers(chart), strict=True))
    for series, number in sorted(pairs, key=lambda pair: not pair[0].muted):
        parts += frame.series(chart, series, number)
    return parts, frame.top + frame.height + _BOTTOM


class _Frame:
    """The rectangle that the points lie in."""

    def __init__(self, left: float, top: float, width: float, height: float, x: Scale, y: Scale) -> None:
        self.left, self.top, self.width, self.height = left, top, width, height
        self.x, self.y = x, y

    def place(self, point: tuple[float, float]) -> tuple[float, float]:
        return (
            self.left + self.x.place(point[0]) * self.width,
            self.top + (1 - self.y.place(point[1])) * self.height,
        )

    def axes(self, x_label: str, y_label: str) -> list[str]:
        right, bottom = self.left + self.width, self.top + self.height
        parts: list[str] = []
        for tick, name in zip(self.y.ticks, self.y.names, strict=True):
            at = self.top + (1 - self.y.place(tick)) * self.height
            parts += [_line(self.left, at, right, at, "grid"), _text(self.left - 7, at + 4, name, "faint", "end")]
        free_from = 0.0
        for tick, name in zip(self.x.ticks, self.x.names, strict=True):
            at, half = self.left + self.x.place(tick) * self.width, len(name) * _LETTER / 2
            parts.append(_line(at, bottom, at, bottom + 5, "axis"))
            if at - half >= free_from:
                parts.append(_text(at, bottom + 19, name, "faint", "middle"))
                free_from = at + half + 6
        parts.append(_line(self.left, bottom, right, bottom, "axis"))
        parts.append(_text(self.left + self.width / 2, bottom + 39, x_label, anchor="middle"))
        middle = self.top + self.height / 2
        turned = f'transform="rotate(-90 14 {_n(middle)})"'
        return [*parts, _text(14, middle, y_label, anchor="middle", more=turned)]

    def series(self, chart: Chart, series: Series, number: int | None) -> list[str]:
        notes = series.notes or ("",) * len(series.points)
        shown = [(p, note) for p, note in zip(series.points, notes, strict=True) if chart.drawable(p)]
        places = [self.place(point) for point, _ in shown]
        parts: list[str] = []
        if chart.kind is Kind.LINE and len(places) > 1:
            path = " ".join(f"{_n(x)},{_n(y)}" for x, y in places)
            thin = " thin" if number is None else ""
            parts.append(
                f'<polyline class="line{thin}" stroke="{_colour(number)}" points="{path}">'
                f"<title>{escape(series.name)}</title></polyline>"
            )
        # Dots on a line only where there are few enough to be seen apart.
        if chart.kind is Kind.SCATTER or len(places) <= 24:
            radius = "4.5" if chart.kind is Kind.SCATTER else "2.5" if number is not None else "1.5"
            for (x, y), (point, note) in zip(places, shown, strict=True):
                words = " · ".join(part for part in (series.name, note or _pair(chart, point)) if part)
                parts.append(
                    f'<circle class="point" cx="{_n(x)}" cy="{_n(y)}" r="{radius}" fill="{_colour(number)}">'
                    f"<title>{escape(words)}</title></circle>"
                )
        return parts


def _pair(chart: Chart, point: tuple[float, float]) -> str:
    x = chart.x_names[int(point[0])] if chart.x_names and point[0] % 1 == 0 else f"{point[0]:.6g}"
    return f"{chart.x_label} {x}, {chart.y_label} {point[1]:.6g}"


def _bars(chart: Chart, top: float) -> tuple[list[str], float]:
    """Horizontal bars: their names have room beside them however long they are."""
    thick, gap = 18, 12
    pairs = list(zip(chart.series, colour_numbers(chart), strict=True))
    values = axis([value for _, value in chart.points], wanted=6, zero=True)
    left = 24 + min(max(len(name) for name in chart.x_names), 34) * _LETTER
    width = WIDTH - left - 70
    bottom = top + 12 + len(chart.x_names) * (thick * len(pairs) + gap) + gap
    parts: list[str] = []
    for tick, name in zip(values.ticks, values.names, strict=True):
        at = left + values.place(tick) * width
        parts += [_line(at, top + 12, at, bottom, "grid"), _text(at, bottom + 17, name, "faint", "middle")]
    zero = left + values.place(0) * width
    for position, name in enumerate(chart.x_names):
        begin = top + 12 + gap + position * (thick * len(pairs) + gap)
        label = name if len(name) <= 34 else name[:33] + "…"
        parts.append(_text(left - 8, begin + thick * len(pairs) / 2 + 4, label, anchor="end"))
        for slot, (series, number) in enumerate(pairs):
            for at, value in series.points:
                if at == position and chart.drawable((at, value)):
                    end = left + values.place(value) * width
                    y = begin + slot * thick
                    parts.append(
                        f'<rect x="{_n(min(zero, end))}" y="{_n(y)}" width="{_n(abs(end - zero))}" height="15" '
                        f'rx="2" fill="{_colour(number)}"/>'
                    )
                    parts.append(_text(max(zero, end) + 6, y + 12, f"{value:.4g}", "faint"))
    parts.append(_line(zero, top + 12, zero, bottom, "axis"))
    parts.append(_text(left + width / 2, bottom + 37, chart.y_label, anchor="middle"))
    return parts, bottom + _BOTTOM


def _colour(number: int | None) -> str:
    return "var(--muted)" if number is None else f"var(--c{number % len(_LIGHT)})"


def _text(x: float, y: float, text: str, style: str = "", anchor: str = "", more: str = "") -> str:
    attributes: Iterable[str] = (
        f'x="{_n(x)}"', f'y="{_n(y)}"', f'class="{style}"' if style else "",
        f'text-anchor="{anchor}"' if anchor else "", more,
    )  # fmt: skip
    return f"<text {' '.join(part for part in attributes if part)}>{escape(text)}</text>"


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line class="{style}" x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"/>'


def _n(number: float) -> str:
    """A coordinate: a tenth of a pixel is enough."""
    return f"{number:.1f}".removesuffix(".0")
