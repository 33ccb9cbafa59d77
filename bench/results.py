"""RESULTS.md: one section per benchmark, each between markers, so that a new run replaces only its own."""

from __future__ import annotations

import os
import platform
import re
import statistics
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

RESULTS = Path(__file__).with_name("RESULTS.md")
_TITLE = "# Measured\n\nEvery section is written by the command that it names.\n"


def write_section(title: str, body: str, path: Path = RESULTS) -> None:
    """Replace the section of this title, or add it at the end."""
    name = re.sub(r"\W+", "-", title.lower())
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    section = f"{begin}\n## {title}\n\n{body.strip()}\n{end}\n"
    text = path.read_text() if path.exists() else _TITLE
    old = re.compile(rf"{re.escape(begin)}\n.*?{re.escape(end)}\n", re.DOTALL)
    text = old.sub(lambda _: section, text) if old.search(text) else f"{text.rstrip()}\n\n{section}"
    path.write_text(text)


def provenance(module: str, versions: Sequence[str], load: float) -> str:
    """When, how and on what: the lines that every section begins with."""
    options = "".join(f" {option}" for option in sys.argv[1:])
    return "\n".join(
        [
            f"- {datetime.now(timezone.utc):%Y-%m-%d}, `python -m {module}{options}`",
            f"- {', '.join([*versions, f'Python {platform.python_version()}'])}",
            f"- {_machine()}; load {load:.1f} at the start",
        ]
    )


def spread(seconds: Sequence[float]) -> str:
    """The median, with the extremes behind it: `0.98 s (0.95-1.05)`."""
    return f"{statistics.median(seconds):.2f} s ({min(seconds):.2f}–{max(seconds):.2f})"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with columns of even width, which reads well as plain text too."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    padded = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]
    padded.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(padded)


def _machine() -> str:
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return f"{os.cpu_count()} cores ({_processor()}), {memory_gib:.0f} GiB, {platform.system()} {platform.release()}"


def _processor() -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else platform.machine()
