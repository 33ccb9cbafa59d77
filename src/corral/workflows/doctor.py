"""`doctor`: what is wrong, where, and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass

from corral.checks import preflight
from corral.checks.evidence import Evidence
from corral.checks.finding import Finding
from corral.deploy.events import Emit
from corral.spec.model import ClusterSpec
from corral.workflows.machines import current_machines
from corral.workflows.operator import NOBODY, Operator
from corral.workflows.session import look, open_session


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """What is wrong now."""

    cluster: str
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Warnings are worth reading and nothing more."""
        return all(finding.severity != "error" for finding in self.findings)

    def to_json(self) -> dict[str, object]:
        return {
            "cluster": self.cluster,
            "ok": self.ok,
            "findings": [finding.to_json() for finding in self.findings],
        }


async def examine(spec: ClusterSpec, emit: Emit, operator: Operator = NOBODY) -> DoctorReport:
    """Look at every machine; nothing is changed."""
    async with open_session(spec, current_machines(spec), emit, operator) as session:
        looked = await look(session, emit)
        evidence = Evidence(spec, looked.facts, looked.surveys)
        findings = [*preflight.out_of_reach(session.missing), *preflight.preflight(evidence, preflight.ALL)]
        return DoctorReport(spec.name, tuple(findings))
