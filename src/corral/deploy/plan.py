"""What a deployment would do: observations and diffs, nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Literal

from corral.deploy.step import Change, Step

Key = tuple[str, str]
"""A host's name and a step's name."""
Verdict = Literal["ok", "change", "unknown"]


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step on one host, and what is to be done about it."""

    host: str
    step: str
    verdict: Verdict
    change: Change | None = None
    waits_for: str = ""
    """For an unknown verdict: the pending step whose outcome decides."""

    def to_json(self) -> dict[str, object]:
        out: dict[str, object] = {"host": self.host, "step": self.step, "verdict": self.verdict}
        if self.change is not None:
            out |= {"summary": self.change.summary, "detail": self.change.detail}
        if self.waits_for:
            out["waits_for"] = self.waits_for
        return out


class Graph:
    """All steps of all hosts with their dependencies resolved."""

    def __init__(self, head: str, steps: Mapping[str, Sequence[Step]]) -> None:
        self.steps: dict[Key, Step] = {(host, step.name): step for host, own in steps.items() for step in own}
        self.needs: dict[Key, tuple[Key, ...]] = {
            (host, step.name): tuple(self._resolve(head, host, ref) for ref in step.after if self._has(head, host, ref))
            for (host, _), step in self.steps.items()
        }
        try:
            self.order: tuple[Key, ...] = tuple(TopologicalSorter(self.needs).static_order())
        except CycleError as problem:
            raise ValueError(f"steps wait for each other in a circle: {problem.args[1]}") from problem

    def _resolve(self, head: str, host: str, ref: str) -> Key:
        where, _, name = ref.rpartition("/")
        return (head if where == "head" else where.removeprefix("@") or host, name)

    def _has(self, head: str, host: str, ref: str) -> bool:
        """A machine without the role has no such step, and then there is nothing to wait for."""
        return self._resolve(head, host, ref) in self.steps


def plan(graph: Graph, observed: Mapping[Key, str]) -> list[PlannedStep]:
    """Compare every observation with what is wanted, in the order in which steps would run."""
    planned: list[PlannedStep] = []
    pending: dict[Key, Key] = {}
    for key in graph.order:
        if key not in observed:
            continue
        host, name = key
        change = graph.steps[key].diff(observed[key])
        cause = next((pending[need] for need in graph.needs[key] if need in pending), None)
        if change is not None:
            planned.append(PlannedStep(host, name, "change", change))
            pending[key] = key
        elif cause is not None:
            where, what = cause
            planned.append(PlannedStep(host, name, "unknown", waits_for=what if where == host else f"{where}/{what}"))
            pending[key] = cause
        else:
            planned.append(PlannedStep(host, name, "ok"))
    return planned
