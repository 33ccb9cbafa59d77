"""`corral advise`: gathers link and step from the command line, from saved reports or from the cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from corral.advice.case import Case, given_link
from corral.advice.inputs import Given, work_of
from corral.advice.quantities import link_rate
from corral.errors import InputError

Notice = Callable[[str], None]
_NODES = 3


@dataclass(frozen=True, slots=True)
class Question:
    """What the command line says."""

    given: Given
    target: float
    link: str | None = None
    saved: tuple[Path, ...] = ()
    nodes: int | None = None
    environment: str = ""
    cluster: str | None = None
    user: str | None = None


async def answer(question: Question, notice: Notice) -> Case:
    """The case to advise on. Measures on the cluster only what is neither given nor saved."""
    step = work_of(question.given)
    if question.link is None:
        notice("measuring")
        raise InputError("give --link")
    link, source = given_link(link_rate(question.link), question.link)
    return Case(link, source, step.work, step.source, question.nodes or _NODES, step.model, question.target)
