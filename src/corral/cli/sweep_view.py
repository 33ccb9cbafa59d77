"""How a sweep looks on a terminal: its states, its results, its plots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from corral.jobs.sweep.figures import charts
from corral.jobs.sweep.report import best_line, cell_text
from corral.jobs.sweep.results import Objective, TrialResult
from corral.jobs.sweep.space import Trial
from corral.jobs.sweep.table import Cell, ResultTable, result_table
from corral.jobs.sweep.trials import SweepStatus, TrialState, TrialStatus
from corral.plots.chart import Chart
from corral.plots.terminal import draw

_BAR = 50
_MOST_TRIALS = 10
_MOST_METRICS = 6
_FIRST_PARAM = 2
"""Before a table's parameters are the trial's number and its state."""

# Told apart without colours as well.
_LOOKS = {
    TrialState.DONE: ("█", "green"),
    TrialState.RUNNING: ("▓", "cyan"),
    TrialState.WAITING: ("░", "dim"),
    TrialState.FAILED: ("✗", "red"),
    TrialState.LOST: ("?", "magenta"),
    TrialState.CANCELLED: ("–", "yellow"),
}
_INTERESTING = (TrialState.FAILED, TrialState.LOST, TrialState.RUNNING)
_COLOURS = ("blue", "dark_orange", "green", "magenta", "yellow", "cyan", "purple", "white")


@dataclass(frozen=True, slots=True)
class SweepView:
    """What there is to know about a sweep."""

    token: str
    name: str
    trials: tuple[Trial, ...]
    status: SweepStatus


def status_view(view: SweepView) -> RenderableType:
    """A bar of the states with their counts, then the trials that somebody may want to do something about."""
    found = view.status.counts
    counts = "  ".join(f"[{_LOOKS[state][1]}]{count:,} {state.value}[/]" for state in _LOOKS if (count := found[state]))
    parts: list[RenderableType] = [
        f"[bold]{escape(view.token)}[/]  {escape(view.name)}  {len(view.trials):,} trials",
        Text.assemble(*_bar(found), "  ", Text.from_markup(counts or "no trials")),
    ]
    interesting = [trial for state in _INTERESTING for trial in view.status.trials if trial.state is state]
    if interesting:
        parts += ["", _trials(view, interesting)]
    if found[TrialState.LOST]:
        parts.append(f"Lost trials are sent again by the cluster; at once by: corral sweep resume {escape(view.token)}")
    return Group(*parts)


def _bar(counts: dict[TrialState, int]) -> list[tuple[str, str]]:
    """Cells in proportion; whatever there is has at least one, so that one failure in a thousand is seen."""
    total = sum(counts.values())
    shown = {state: max(1, round(count * _BAR / total)) for state, count in counts.items() if count}
    while sum(shown.values()) > _BAR:
        shown[max(shown, key=lambda state: shown[state])] -= 1
    return [(_LOOKS[state][0] * cells, _LOOKS[state][1]) for state in _LOOKS if (cells := shown.get(state, 0))]


def _trials(view: SweepView, interesting: Sequence[TrialStatus]) -> Table:
    table = _plain_table("TRIAL", "STATE", "PARAMETERS", "WHY")
    for trial in interesting[:_MOST_TRIALS]:
        colour = _LOOKS[trial.state][1]
        params = escape(view.trials[trial.index].text)
        table.add_row(str(trial.index), f"[{colour}]{trial.state.value}[/]", params, escape(trial.why))
    if len(interesting) > _MOST_TRIALS:
        table.add_row("…", "", f"and {len(interesting) - _MOST_TRIALS:,} more", "")
    return table


def results_view(results: Sequence[TrialResult], objective: Objective | None, most: int = 20) -> RenderableType:
    """The table of results, which come best first. Parameters that never vary stand above it once."""
    if not any(one.values for one in results):
        return "no trial has reported anything yet"
    table = result_table(results)
    constant = _constant(table) if len(results) > 1 else {}
    shown = _shown_columns(table, constant, objective)
    grid = _plain_table(*(_title(table.columns[at], objective) for at in shown))
    for at, column in zip(shown, grid.columns, strict=True):
        column.justify = "left" if any(_is_word(row[at]) for row in table.rows) else "right"
    for row in table.rows[:most]:
        grid.add_row(*(_cell(row[at]) for at in shown))
    parts: list[RenderableType] = []
    if best := best_line(results, objective):
        parts.append(escape(best))
    if constant:
        parts.append(f"[dim]all with {escape(' '.join(f'{name}={value}' for name, value in constant.items()))}[/]")
    parts.append(grid)
    if len(table.rows) > most:
        parts.append(f"[dim]… and {len(table.rows) - most:,} more: --all, or --csv FILE[/]")
    return Group(*parts)


def _constant(table: ResultTable) -> dict[str, Cell]:
    """Parameters that are the same for all trials."""
    values = {name: {row[at] for row in table.rows} for at, name in enumerate(table.params, _FIRST_PARAM)}
    return {name: found.pop() for name, found in values.items() if len(found) == 1}


def _shown_columns(table: ResultTable, constant: Iterable[str], objective: Objective | None) -> list[int]:
    """Where the columns are that fit a terminal and tell trials apart; the metric that is compared is the first."""
    states = {row[1] for row in table.rows}
    shown = [0, 1] if states != {TrialState.DONE.value} else [0]
    shown += [at for at, name in enumerate(table.params, _FIRST_PARAM) if name not in constant]
    metrics = [name for name in table.metrics if name != "time"]
    if objective is not None:
        metrics.sort(key=lambda name: name != objective.metric)
    first_metric = _FIRST_PARAM + len(table.params)
    return shown + [first_metric + table.metrics.index(name) for name in metrics[:_MOST_METRICS]]


def plots_view(results: Sequence[TrialResult], objective: Objective | None, width: int) -> RenderableType:
    """Every chart of the results, one below the other."""
    found = charts(results, objective)
    if not found:
        return "nothing to plot: no trial reported a number that tells trials apart. Name one with --best min:METRIC"
    return Group(*(line for chart in found for line in (chart_view(chart, width), "")))


def chart_view(chart: Chart, width: int, height: int = 14) -> Text:
    """One chart in the terminal's colours."""
    text = Text()
    for number, line in enumerate(draw(chart, min(width, 100), height)):
        for span in line:
            if span.colour is None:
                text.append(span.text, "bold" if number == 0 else "")
            else:
                text.append(span.text, "dim" if span.colour < 0 else _COLOURS[span.colour % len(_COLOURS)])
        text.append("\n")
    return text


def _plain_table(*titles: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in titles:
        table.add_column(escape(title), no_wrap=True, overflow="ellipsis")
    return table


def _title(column: str, objective: Objective | None) -> str:
    arrow = "" if objective is None or column != objective.metric else " ↓" if objective.minimize else " ↑"
    return column.upper() + arrow


def _is_word(cell: Cell) -> bool:
    if not isinstance(cell, str):
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False


def _cell(cell: Cell) -> str:
    text = cell_text(cell)
    return f"[red]{text}[/]" if text in ("nan", "inf", "-inf") or text == TrialState.FAILED.value else escape(text)
