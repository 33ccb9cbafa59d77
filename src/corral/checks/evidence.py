"""What preflight checks judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from corral.checks.finding import Finding
from corral.deploy.facts import Facts
from corral.deploy.survey import Survey
from corral.spec.model import ClusterSpec


@dataclass(frozen=True, slots=True)
class Evidence:
    """The cluster file and what was found on the machines that could be reached; every survey has its facts."""

    spec: ClusterSpec
    facts: Mapping[str, Facts]
    surveys: Mapping[str, Survey]


Check = Callable[[Evidence], Iterator[Finding]]
