"""What the trials measured: reports of each trial in, one row per trial out, the best first."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from corral.errors import InputError
from corral.jobs.sweep.space import Trial
from corral.jobs.sweep.trials import TrialState

Value = float | int | bool | str
Report = Mapping[str, Value]
"""What one call of `corral.metrics.report` wrote."""

# JSON has no such numbers, so `corral.metrics` writes them as texts.
_NOT_FINITE: dict[Value, float] = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

NOT_METRICS = ("step", "epoch", "time")
"""They say when something was measured, so they are never what is compared."""

# Of several metrics people mean the one on data that the model has not seen.
_HELD_OUT = re.compile(r"val|valid|validation|test|eval|dev")
_DIRECTIONS = (
    (True, re.compile(r"loss|err|error|ppl|perplexity|mse|rmse|mae|nll|fid|wer|cer|bpc|bpb")),
    (
        False,
        re.compile(r"acc|accuracy|acc1|top1|f1|auc|auroc|reward|return|score|bleu|rouge|map|iou|miou|r2|psnr|ssim"),
    ),
)


@dataclass(frozen=True, slots=True)
class Objective:
    """Which metric is compared, and which end of it is better."""

    metric: str
    minimize: bool

    @property
    def text(self) -> str:
        return f"{'lowest' if self.minimize else 'highest'} {self.metric}"

    def key(self, value: Value | None) -> tuple[int, float]:
        """Sorts best first; what diverged comes after every number, and what is missing last."""
        if value is None or isinstance(value, str):
            return (2, 0.0)
        if not math.isfinite(value):
            return (1, 0.0)
        return (0, value if self.minimize else -value)


@dataclass(frozen=True, slots=True)
class TrialResult:
    """One row: the trial and what it measured."""

    trial: Trial
    state: TrialState
    values: Report
    history: tuple[Report, ...] = ()


def parse_reports(text: str) -> tuple[Report, ...]:
    """Reports of `metrics.jsonl`. Half a line, as a killed trial may leave it, is passed over."""
    return tuple(report for line in text.split("\n") if (report := _report(line)))


def last_report(log: str) -> tuple[Report, ...]:
    """The last line of a log that is a JSON object, for scripts that only print their result."""
    for line in reversed(log.split("\n")):
        if report := _report(line):
            return (report,)
    return ()


def parse_objective(text: str) -> Objective:
    """`min:loss` or `max:accuracy`."""
    direction, colon, metric = text.partition(":")
    if not colon or direction not in ("min", "max") or not metric:
        raise InputError(f"--best {text}: write min:METRIC or max:METRIC, for example min:loss")
    return Objective(metric, direction == "min")


def guess_objective(reports: Iterable[Report]) -> Objective | None:
    """The metric that people most likely compare by, from its name alone; None if no name tells."""
    names = dict.fromkeys(name for report in reports for name, value in report.items() if not isinstance(value, str))
    ranked: list[tuple[bool, int, Objective]] = []
    for position, name in enumerate(names):
        words = re.split(r"[^a-z0-9]+", name.lower())
        for minimize, known in _DIRECTIONS:
            if any(known.fullmatch(word) for word in words):
                seen_in_training = not any(_HELD_OUT.fullmatch(word) for word in words)
                ranked.append((seen_in_training, position, Objective(name, minimize)))
    return min(ranked, key=lambda one: one[:2])[2] if ranked else None


def result(trial: Trial, state: TrialState, history: Sequence[Report], best: Objective | None = None) -> TrialResult:
    """The trial's last value of each metric; with `best`, all values as they were when that one was best."""
    upto = len(history)
    if best is not None:
        keys = [best.key(report.get(best.metric)) for report in history]
        upto = keys.index(min(keys)) + 1 if keys and min(keys)[0] == 0 else upto
    values: dict[str, Value] = {}
    for report in history[:upto]:
        values.update(report)
    return TrialResult(trial, state, values, tuple(history))


def ranked(results: Iterable[TrialResult], objective: Objective | None) -> list[TrialResult]:
    """Best first; in the order of the trials where nothing tells them apart."""
    in_order = sorted(results, key=lambda one: one.trial.index)
    if objective is None:
        return in_order
    return sorted(in_order, key=lambda one: objective.key(one.values.get(objective.metric)))


def check_metric(objective: Objective, results: Iterable[TrialResult]) -> None:
    """An objective that no trial reported is a typing mistake, unless nothing was reported at all."""
    names = list(dict.fromkeys(name for one in results for name in one.values))
    if names and objective.metric not in names:
        raise InputError(f"--best: no trial reported {objective.metric!r}. Reported were: {', '.join(names)}")


def _report(line: str) -> Report | None:
    if not line.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    flat = {str(name): _NOT_FINITE.get(value, value) for name, value in found.items() if isinstance(value, Value)}
    return flat or None
