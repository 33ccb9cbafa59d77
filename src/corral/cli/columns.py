"""Plain columns on a terminal, for lists that may be long: drawn in microseconds a row, with no library to load."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from unicodedata import east_asian_width

_GAP = "  "
_LEAST = (16, 8)
"""What a column that gives way keeps: first this much, and less only where all have given way."""

RESET, DIM = "\x1b[0m", "\x1b[2m"
GREEN, YELLOW, RED = "\x1b[32m", "\x1b[33m", "\x1b[31m"


def columns(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int | None,
    gives_way: Sequence[str] = (),
    colors: Mapping[int, Mapping[str, str]] | None = None,
) -> list[str]:
    """Lines of text. Where `width` is too small, the columns in `gives_way` are cut short, one after the other.

    `colors` paints cells of a column by their text, or all of a column's cells by `""`.
    """
    cells = [[_printable(cell) for cell in row] for row in rows]
    wide = [max(map(_wide, column)) for column in zip(titles, *cells, strict=True)]
    if width is not None:
        _fit(wide, width, [titles.index(title) for title in gives_way])
    header = _line(titles, wide, {})
    painted = colors or {}
    found = [f"{DIM}{header}{RESET}" if painted else header]
    found += [_line(row, wide, painted) for row in cells]
    return found


def terminal_width() -> int | None:
    """How much fits on a line; None where nobody looks, such as in a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _fit(wide: list[int], width: int, order: Sequence[int]) -> None:
    for least in _LEAST:
        for column in order:
            over = sum(wide) + len(_GAP) * (len(wide) - 1) - width
            if over > 0:
                wide[column] = max(min(least, wide[column]), wide[column] - over)


def _line(row: Sequence[str], wide: Sequence[int], colors: Mapping[int, Mapping[str, str]]) -> str:
    parts = []
    for number, (cell, room) in enumerate(zip(row, wide, strict=True)):
        shown = _cut(cell, room)
        padded = shown + " " * (room - _wide(shown))
        paint = colors.get(number, {})
        color = paint.get(cell.split(" ")[0], paint.get("", ""))
        parts.append(f"{color}{padded}{RESET}" if color else padded)
    return _GAP.join(parts).rstrip()


def _cut(text: str, room: int) -> str:
    if _wide(text) <= room:
        return text
    while _wide(text) > room - 1:
        text = text[:-1]
    return f"{text}…"


def _printable(text: str) -> str:
    """People name jobs as they like; what would move the cursor is shown as a question mark."""
    return text if text.isprintable() else "".join(one if one.isprintable() else "?" for one in text)


def _wide(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(one) in "WF" else 1 for one in text)
