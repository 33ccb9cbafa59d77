"""How a collective's report looks on a terminal: the table of nccl-tests, and how much of the link was used."""

from __future__ import annotations

from collections.abc import Sequence

from corral.cli.columns import DIM, RESET
from corral.measure.collective import CollectiveReport, Row, Variant
from corral.measure.collective_page import (
    about,
    average,
    cells,
    digits_of,
    headline,
    iterations_text,
    links_text,
    remarks,
    share_text,
    title,
)

BOLD, YELLOW = "\x1b[1m", "\x1b[33m"
_GAP = "  "
_FIRST = ("size", "count", "type", "redop")
_TIMES = ("time", "algbw", "busbw", "#wrong")
_UNITS = {"size": "(B)", "count": "(elements)", "time": "(us)", "algbw": "(GB/s)", "busbw": "(GB/s)"}
_LAST = ("iters", "of TCP")


def report_lines(report: CollectiveReport, *, width: int | None, color: bool) -> list[str]:
    """Everything, a section per variant."""

    def paint(text: str, how: str) -> str:
        return f"{how}{text}{RESET}" if color and text else text

    lines = [paint(title(report), BOLD), paint(about(report), DIM)]
    for variant in report.variants:
        lines += ["", f"{paint(variant.name, BOLD)}  {variant.how}"]
        head, rows = _table(report, variant, width)
        lines += [paint(line, DIM) for line in head] + rows
        lines.append(paint(average(variant), DIM))
    if report.links:
        lines += ["", paint("raw TCP", BOLD), *links_text(report)]
    lines += ["", paint(headline(report), BOLD)]
    return lines + [f"{paint('!', YELLOW)} {remark}" for remark in remarks(report)]


def _table(report: CollectiveReport, variant: Variant, width: int | None) -> tuple[list[str], list[str]]:
    """Three lines of titles, as in nccl-tests, and the rows. Where it is narrow, what follows from the rest goes."""
    never = [] if report.limit_bit_s else ["of TCP"]
    digits = digits_of(variant)
    for gone in ([], ["count"], ["count", "redop", "iters"], ["count", "redop", "iters", "type"]):
        without = [*never, *gone]
        titles = [name for name in (*_FIRST, *_TIMES, *_TIMES, *_LAST) if name not in without]
        rows = [_cells(report, row, digits, without) for row in variant.rows]
        units = [_UNITS.get(name, "") for name in titles]
        wide = [max(map(len, column)) for column in zip(titles, units, *rows, strict=True)]
        if width is None or sum(wide) + len(_GAP) * (len(wide) - 1) <= width:
            break
    first = len([name for name in _FIRST if name not in without])
    return [_groups(wide, first), _line(titles, wide), _line(units, wide)], [_line(row, wide) for row in rows]


def _cells(report: CollectiveReport, row: Row, digits: int, without: Sequence[str]) -> list[str]:
    first = dict(zip(_FIRST, (str(row.size_bytes), str(row.count), row.type, row.redop), strict=True))
    last = dict(zip(_LAST, (iterations_text(row), share_text(report, row)), strict=True))
    return [
        *(text for name, text in first.items() if name not in without),
        *cells(row.out_of_place, digits),
        *cells(row.in_place, digits),
        *(text for name, text in last.items() if name not in without),
    ]


def _groups(wide: Sequence[int], first: int) -> str:
    """What is above the times: where the result goes."""
    room = sum(wide[:first]) + len(_GAP) * first
    each = [sum(wide[at : at + 4]) + len(_GAP) * 3 for at in (first, first + 4)]
    names = (name.center(space) for name, space in zip(("out-of-place", "in-place"), each, strict=True))
    return (" " * room + _GAP.join(names)).rstrip()


def _line(texts: Sequence[str], wide: Sequence[int]) -> str:
    return _GAP.join(text.rjust(room) for text, room in zip(texts, wide, strict=True)).rstrip()
