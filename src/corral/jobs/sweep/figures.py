"""What to plot of a sweep: the metric against each parameter that varies, and how it went down or up over the steps."""

from __future__ import annotations

import math
from collections.abc import Sequence

from corral.jobs.sweep.results import Objective, TrialResult
from corral.plots.chart import Chart, Kind, Point, Series

_HIGHLIGHTED = 5
_MOST_CURVES = 100
_MOST_POINTS = 200
_MOST_COLOURS = 8
_MOST_NAMES = 12
_FEW_NUMBERS = 8
"""So few different numbers are shown side by side like names: `1e-5, 1e-4, 1e-3` as well as `2, 4, 8`."""
_STEPS = ("step", "epoch", "iteration", "iter")
_REPETITIONS = ("seed", "fold", "repeat", "run", "replica")
"""Parameters that are varied to average over them: they have neither colours nor, beside others, a chart."""


def charts(results: Sequence[TrialResult], objective: Objective | None) -> list[Chart]:
    """Every chart that these results, the best first, are worth."""
    if objective is None:
        return []
    curves = learning_curves(results, objective)
    return [*parameter_charts(results, objective), *([curves] if curves else [])]


def parameter_charts(results: Sequence[TrialResult], objective: Objective) -> list[Chart]:
    """One scatter chart per parameter that varies; colours are another parameter's values."""
    measured = [one for one in results if number(one.values.get(objective.metric)) is not None]
    columns = {name: [dict(one.trial.params).get(name) for one in measured] for name in _names(measured)}
    varying = {name: values for name, values in columns.items() if len(set(values)) > 1}
    told = [name for name in varying if not _repeats(name)] or list(varying)
    panels = [_panel(name, _colour_parameter(name, varying), measured, objective) for name in told]
    return [panel for panel in panels if panel is not None]


def learning_curves(results: Sequence[TrialResult], objective: Objective) -> Chart | None:
    """The metric over the steps: the best trials in colours, the others behind them; None if nobody reported twice."""
    known = {name for one in results for report in one.history for name in report}
    step = next((name for name in _STEPS if name in known), None)
    curves = [(one, _curve(one, objective.metric, step)) for one in results]
    curves = [(one, points) for one, points in curves if len(points) > 1]
    if not curves:
        return None
    best, others = curves[:_HIGHLIGHTED], curves[_HIGHLIGHTED:]
    others = others[:: max(1, math.ceil(len(others) / _MOST_CURVES))]
    return Chart(
        title=f"{objective.metric} over time" if step is None else f"{objective.metric} by {step}",
        x_label=step or "report",
        y_label=objective.metric,
        series=tuple(
            Series(f"#{one.trial.index} {one.trial.text}", points, muted=place >= len(best))
            for place, (one, points) in enumerate([*best, *others])
        ),
        y_log=_metric_is_log(objective, [y for _, points in curves for _, y in points]),
    )


def spread_over_decades(values: Sequence[float]) -> bool:
    """Whether a logarithmic axis tells values better apart: they span much, and evenly so in their logarithms."""
    known = sorted(set(values))
    if len(known) < 3 or known[0] <= 0 or known[-1] / known[0] < 50:
        return False
    low, middle, high = known[0], known[len(known) // 2], known[-1]
    linear = (middle - low) / (high - low)
    logarithmic = math.log(middle / low) / math.log(high / low)
    return abs(logarithmic - 0.5) < abs(linear - 0.5)


def _metric_is_log(objective: Objective, values: Sequence[float]) -> bool:
    """Of what is made small, such as a loss, the small values are of interest: a long way down is shown as such."""
    if objective.minimize and min(values) > 0:
        return max(values) / min(values) >= 20
    return spread_over_decades(values)


def number(value: object) -> float | None:
    """The value as a finite number, if it is one."""
    if not isinstance(value, (int, float, str)):
        return None
    try:
        found = float(value)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _names(results: Sequence[TrialResult]) -> list[str]:
    return list(dict.fromkeys(name for one in results for name, _ in one.trial.params))


def _repeats(name: str) -> bool:
    return any(word in name.lower() for word in _REPETITIONS)


def _colour_parameter(panel: str, varying: dict[str, list[str | None]]) -> str | None:
    """Of the other parameters the one with the fewest values, if these are few enough to be told apart."""
    counts = {name: len(set(values)) for name, values in varying.items() if name != panel and not _repeats(name)}
    fitting = [name for name, count in counts.items() if count <= _MOST_COLOURS]
    return min(fitting, key=lambda name: counts[name]) if fitting else None


def _panel(name: str, colour: str | None, measured: Sequence[TrialResult], objective: Objective) -> Chart | None:
    given = [(one, value) for one in measured if (value := dict(one.trial.params).get(name)) is not None]
    numbers = [found for _, value in given if (found := number(value)) is not None]
    names = sorted({value for _, value in given}, key=_reading_order)
    if len(numbers) == len(given) and len(names) > _FEW_NUMBERS:
        names = []
    if len(names) > _MOST_NAMES:
        return None
    groups: dict[str, list[tuple[Point, str]]] = {}
    for one, value in given:
        x = names.index(value) + _aside(one.trial.index) if names else float(value)
        y = number(one.values[objective.metric]) or 0.0
        group = "" if colour is None else f"{colour}={dict(one.trial.params).get(colour, '–')}"
        note = f"#{one.trial.index} {one.trial.text}: {objective.metric} {y:.6g}"
        groups.setdefault(group, []).append(((x, y), note))
    return Chart(
        title=f"{objective.metric} by {name}",
        x_label=name,
        y_label=objective.metric,
        series=tuple(
            Series(group, tuple(point for point, _ in groups[group]), notes=tuple(note for _, note in groups[group]))
            for group in sorted(groups, key=lambda group: _reading_order(group.partition("=")[2]))
        ),
        x_log=not names and spread_over_decades(numbers),
        y_log=_metric_is_log(objective, [y for points in groups.values() for (_, y), _ in points]),
        kind=Kind.SCATTER,
        x_names=tuple(names),
    )


def _aside(index: int) -> float:
    """A little to the left or right, so that trials of the same value do not hide each other."""
    return (index * 0.618034 % 1 - 0.5) * 0.4


def _reading_order(text: str) -> tuple[float, str]:
    """Numbers by size, then words by letters."""
    found = number(text)
    return (math.inf if found is None else found, text)


def _curve(one: TrialResult, metric: str, step: str | None) -> tuple[Point, ...]:
    """A trial's metric by step. What it reported again after going on from a checkpoint replaces what was before."""
    found: dict[float, float] = {}
    for position, report in enumerate(one.history):
        x = float(position) if step is None else number(report.get(step))
        y = number(report.get(metric))
        if x is not None and y is not None:
            found[x] = y
    points = sorted(found.items())
    thinned = points[:: max(1, math.ceil(len(points) / _MOST_POINTS))]
    return tuple(thinned if not points or thinned[-1] == points[-1] else [*thinned, points[-1]])
