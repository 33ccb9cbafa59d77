"""Several charts and tables as one HTML file that may be mailed: nothing is loaded, nothing runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from corral.plots.chart import Chart
from corral.plots.svg import svg

_STYLE = """
:root{color-scheme:light dark;--ink:#24292f;--faint:#57606a;--line:#d0d7de;--page:#fff;--stripe:#f6f8fa}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--faint:#9aa4af;--line:#30363d;--page:#0d1117;--stripe:#161b22}}
body{margin:2rem auto;padding:0 1.25rem;max-width:80rem;color:var(--ink);background:var(--page)}
body{font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;margin:2.2rem 0 .6rem}p{margin:.3rem 0;color:var(--faint)}
.charts{display:grid;gap:1.25rem;margin-top:1rem;grid-template-columns:repeat(auto-fit,minmax(min(30rem,100%),1fr));align-items:start}
figure{margin:0;padding:.5rem;border:1px solid var(--line);border-radius:8px;max-width:48rem}
figure svg{display:block;width:100%}
.scroll{overflow-x:auto;border:1px solid var(--line);border-radius:8px}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.35rem .6rem;text-align:left;white-space:nowrap;border-bottom:1px solid var(--line)}
tr:last-child td{border-bottom:0}tbody tr:nth-child(even){background:var(--stripe)}
th{color:var(--faint);font-weight:600;white-space:normal;vertical-align:bottom}.number{text-align:right}
"""


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as they are to be read; columns of nothing but numbers line up at the right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page: words, then charts side by side, then a table."""

    heading: str = ""
    text: str = ""
    charts: Sequence[Chart] = ()
    table: Table | None = None


def page(title: str, sections: Sequence[Section], text: str = "") -> str:
    """The whole document."""
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n{_paragraph(text)}"
        f"{''.join(_section(section) for section in sections)}</body>\n</html>\n"
    )


def _section(section: Section) -> str:
    parts = [f"<h2>{escape(section.heading)}</h2>\n" if section.heading else "", _paragraph(section.text)]
    if section.charts:
        figures = "".join(f"<figure>{svg(chart)}</figure>\n" for chart in section.charts)
        parts.append(f'<div class="charts">\n{figures}</div>\n')
    if section.table is not None:
        parts.append(_table(section.table))
    return f"<section>\n{''.join(parts)}</section>\n"


def _table(table: Table) -> str:
    numeric = [all(_is_number(row[at]) for row in table.rows) for at in range(len(table.columns))]

    def cells(tag: str, texts: Sequence[str]) -> str:
        return "".join(
            f'<{tag} class="number">{escape(text)}</{tag}>' if right else f"<{tag}>{escape(text)}</{tag}>"
            for text, right in zip(texts, numeric, strict=True)
        )

    rows = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in table.rows)
    return (
        f'<div class="scroll"><table>\n<thead><tr>{cells("th", table.columns)}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody>\n</table></div>\n"
    )


def _is_number(text: str) -> bool:
    if text in ("", "–"):
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>\n" if text else ""
