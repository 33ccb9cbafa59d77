"""A sweep's results as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence

from corral.jobs.sweep.figures import charts
from corral.jobs.sweep.results import Objective, TrialResult
from corral.jobs.sweep.table import Cell, ResultTable, result_table
from corral.plots.html import Section, Table, page


def cell_text(cell: Cell) -> str:
    """A cell for people: few digits, and a dash where there is nothing."""
    if cell is None:
        return "–"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def results_page(title: str, results: Sequence[TrialResult], objective: Objective | None) -> str:
    """The best trial in words, the charts, and every trial; results come best first."""
    table = result_table(results)
    plots = charts(results, objective)
    return page(
        title,
        [
            *([Section(charts=plots)] if plots else []),
            Section(heading=f"{len(results)} trials", table=_table(table)),
        ],
        text=best_line(results, objective),
    )


def best_line(results: Sequence[TrialResult], objective: Objective | None) -> str:
    """The winner in one line; empty if nobody can be it."""
    if objective is None or not results:
        return ""
    best = results[0].values.get(objective.metric)
    if objective.key(best)[0]:
        return ""
    return f"{objective.text} {cell_text(best)}: trial {results[0].trial.index} ({results[0].trial.text})"


def _table(table: ResultTable) -> Table:
    keep = [at for at, name in enumerate(table.columns) if name != "time"]
    return Table(
        [table.columns[at] for at in keep],
        [[cell_text(row[at]) for at in keep] for row in table.rows],
    )
