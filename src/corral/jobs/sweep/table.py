"""The results as a table: columns chosen once, for the terminal, CSV and JSON alike."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

from corral.jobs.sweep.results import TrialResult, Value

Cell = Value | None


@dataclass(frozen=True, slots=True)
class ResultTable:
    """One row per trial: its number and state, its parameters, its metrics. What is missing is None."""

    params: tuple[str, ...]
    metrics: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names that are all different: a metric named like a parameter is the one that was reported."""
        taken = ("trial", "state", *self.params)
        return (*taken, *(f"reported {name}" if name in taken else name for name in self.metrics))


def result_table(results: Sequence[TrialResult]) -> ResultTable:
    """The table of results in the order given."""
    params = tuple(dict.fromkeys(name for one in results for name, _ in one.trial.params))
    metrics = tuple(dict.fromkeys(name for one in results for name in one.values))
    rows: list[tuple[Cell, ...]] = []
    for one in results:
        given = dict(one.trial.params)
        cells = [given.get(name) for name in params]
        rows.append((one.trial.index, one.state.value, *cells, *(one.values.get(name) for name in metrics)))
    return ResultTable(params, metrics, tuple(rows))


def to_csv(table: ResultTable) -> str:
    """RFC 4180; a missing value is empty, a number that is none is `nan`."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return text.getvalue()


def to_json(table: ResultTable) -> list[dict[str, Cell]]:
    """An object per trial; JSON has no NaN and no infinity, so these are null as well."""
    return [{name: _json_cell(cell) for name, cell in zip(table.columns, row, strict=True)} for row in table.rows]


def _json_cell(cell: Cell) -> Cell:
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell
