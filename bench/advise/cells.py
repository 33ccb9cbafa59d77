"""Predicted against measured step times. Predictions see the link's measurement and one node's step, nothing else."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from bench.advise.bed import EVERY

from corral.advice.saved import link_of_report, steps_of_report
from corral.inside.cost import Device, Mode, Work, predict

Report = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cell:
    """One model on so many nodes over one link in one mode."""

    link: str
    model: str
    nodes: int
    mode: str
    alone_s: float
    predicted_s: float
    measured_s: float

    @property
    def error(self) -> float:
        """Relative to what was measured; above zero where the prediction is too slow."""
        return self.predicted_s / self.measured_s - 1


def cells(runs: Iterable[Report]) -> list[Cell]:
    """Every cell of every link's reports."""
    return [cell for run in runs for report in run["ddp"] for cell in _of(run, report)]


def _of(run: Report, report: Report) -> Iterable[Cell]:
    links = {int(nodes): link_of_report(found, "").link for nodes, found in run["allreduce"].items()}
    steps = {step.model: step.work for step in steps_of_report(report, "")}
    accumulate = {model["name"]: model.get("accumulate", 1) for model in report["models"]}
    for row in report["rows"]:
        if row["n"] > 1:
            work = _sharing_cores(steps[row["model"]], row["n"], run["cores"])
            mode = Mode(row["mode"], accumulate[row["model"]], every=EVERY)
            found = predict(work, links[row["n"]], mode, row["n"])
            yield Cell(run["link"], row["model"], row["n"], row["mode"], work.step_s, found.step_s, row["step_s"])


def _sharing_cores(work: Work, nodes: int, cores: int) -> Work:
    """All machines are on this one: what hooks compute at the same time on more nodes than cores takes longer."""
    share = min(1.0, cores / nodes)
    device = Device(**{name: rate * share for name, rate in asdict(work.device).items()})
    return replace(work, device=device)


def median_error(found: Iterable[Cell]) -> float:
    """The median of the errors' sizes."""
    return statistics.median(abs(cell.error) for cell in found)


def grouped(found: Iterable[Cell], by: Callable[[Cell], str]) -> dict[str, list[Cell]]:
    """Cells by something, in the order in which they come."""
    groups: dict[str, list[Cell]] = {}
    for cell in found:
        groups.setdefault(by(cell), []).append(cell)
    return groups
