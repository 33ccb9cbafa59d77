"""`corral advise`: gathers link and step from the command line, from saved reports or from the cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from corral.advice.case import Case, given_link
from corral.advice.inputs import Given, Sourced, work_of
from corral.advice.quantities import link_rate
from corral.advice.saved import MeasuredLink, Report, has_link, has_steps, link_of_report, read_report, steps_of_report
from corral.errors import InputError
from corral.measure.records import Record
from corral.measure.send import Notice
from corral.workflows.bench import Place, Sizes, bench_collective

_NODES = 3
"""Where nobody says how many."""
_SIZES = Sizes(min_bytes=1 << 18, max_bytes=1 << 24, factor=4)
"""About as large as DDP's buckets."""

Named = tuple[str, Report]


@dataclass(frozen=True, slots=True)
class Question:
    """What the command line says."""

    given: Given
    target: float
    place: Place
    """Where to measure the link, if it is neither given nor saved."""
    link: str | None = None
    saved: tuple[Path, ...] = ()
    nodes: int | None = None


async def answer(question: Question, notice: Notice, on_record: Callable[[Record], None]) -> Case:
    """The case to advise on. Measures on the cluster only what is neither given nor saved."""
    reports = [(str(path), read_report(path)) for path in question.saved]
    step = _step(question.given, [one for one in reports if has_steps(one[1])])
    links = [one for one in reports if has_link(one[1])]
    _only_one([*(name for name, _ in links), *([f"--link {question.link}"] if question.link else [])], "the link")
    if question.link is not None:
        link, source = given_link(link_rate(question.link), question.link)
        found = MeasuredLink(link, source, _NODES)
    elif links:
        name, report = links[0]
        found = link_of_report(report, name)
    else:
        measured = await bench_collective("allreduce", _SIZES, question.place, notice, on_record)
        found = link_of_report(measured.to_json(), f"now, on {measured.where}")
    nodes = question.nodes or found.nodes
    return Case(found.link, found.source, step.work, step.source, nodes, step.model, question.target)


def _step(given: Given, reports: Sequence[Named]) -> Sourced:
    if not reports:
        return work_of(given)
    says = {"--step-ms": given.step_ms, "--params": given.params, "--gpu": given.gpu, "--batch": given.batch}
    options = [name for name, value in says.items() if value is not None]
    _only_one([*(name for name, _ in reports), *options], "the training step")
    name, report = reports[0]
    steps = {step.model: step for step in steps_of_report(report, name)}
    wanted = given.model or next(iter(steps))
    if wanted not in steps or (given.model is None and len(steps) > 1):
        raise InputError(f"{name}: which model? Choose with --model: {', '.join(steps)}")
    return steps[wanted]


def _only_one(sources: Sequence[str], what: str) -> None:
    if len(sources) > 1:
        raise InputError(f"{', '.join(sources)}: each of them says something about {what}; give one")
