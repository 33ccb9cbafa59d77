"""One rung of the ladder, and what came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from corral.checks import catalogue
from corral.checks.finding import Finding
from corral.checks.ladder import kinds
from corral.checks.ladder.site import Site

Status = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a rung says of itself."""

    status: Status
    summary: str
    """A few words with the numbers; of a rung that was not tried, why."""
    findings: Sequence[Finding] = ()
    numbers: Mapping[str, object] = field(default_factory=dict)
    """What was measured, for programs."""
    stop: str = ""
    """Why it is pointless to go on, where it is: "no job starts"."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One thing that a cluster must be able to do."""

    name: str
    title: str
    climb: Callable[[Site], Awaitable[Outcome]]
    needed: bool = False
    """By all that are above it: it finds out which nodes may be sent jobs."""
    needs: tuple[str, ...] = ()
    """Whose measurements it is judged by."""


@dataclass(frozen=True, slots=True)
class Result:
    """One rung after it was climbed, or not."""

    rung: str
    title: str
    status: Status
    summary: str
    seconds: float = 0.0
    findings: tuple[Finding, ...] = ()
    numbers: Mapping[str, object] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        return {
            "rung": self.rung,
            "title": self.title,
            "status": self.status,
            "summary": self.summary,
            "seconds": round(self.seconds, 2),
            "findings": [finding.to_json() for finding in self.findings],
            "numbers": dict(self.numbers),
        }


def judged(findings: Sequence[Finding], fine: str, numbers: Mapping[str, object] | None = None) -> Outcome:
    """Passed unless there is an error among the findings; of a failure only the heading, the findings say the rest."""
    titles = {finding.where: _title(finding) for finding in reversed(findings) if finding.severity == "error"}
    if not titles:
        return Outcome("passed", fine, findings, numbers or {})
    summary = "; ".join(f"{where}: {title}" for where, title in reversed(titles.items()))
    return Outcome("failed", summary, findings, numbers or {})


def _title(finding: Finding) -> str:
    title = next(kind.title for kind in (*catalogue.KINDS, *kinds.KINDS) if kind.name == finding.kind)
    return title if title.startswith(("GPU", "Slurm")) else title[0].lower() + title[1:]
