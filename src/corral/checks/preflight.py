"""Preflight: what would make a deployment fail, found before anything is changed.

Every check is a pure function from evidence to findings, and answers one question.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from corral.checks import preflight_fleet as fleet
from corral.checks import preflight_machine as machine
from corral.checks.evidence import Check, Evidence
from corral.checks.finding import Finding

BEFORE_UP: tuple[Check, ...] = (
    machine.supported_system,
    machine.foreign_slurm,
    machine.ports,
    machine.room_on_disk,
    machine.package_mirror,
    machine.gpus,
    fleet.same_machine_twice,
    fleet.host_names,
    fleet.clocks,
    fleet.drivers,
)
"""An error of one of these stops `up`."""

ALL: tuple[Check, ...] = (*BEFORE_UP, machine.containers)

BESIDE_SLURM = tuple(check for check in ALL if check not in (machine.room_on_disk, machine.ports, fleet.clocks))
"""What the examination of a running cluster's nodes does not find out anyway."""


def preflight(evidence: Evidence, checks: Iterable[Check] = BEFORE_UP) -> list[Finding]:
    """Everything that the checks find, errors first."""
    findings = [finding for check in checks for finding in check(evidence)]
    return sorted(findings, key=lambda finding: finding.severity != "error")


def out_of_reach(missing: Mapping[str, str]) -> list[Finding]:
    """Machines that could not be reached, or on which nothing can be done as root."""
    return [
        Finding(
            "error",
            name,
            f"it cannot be reached: {why}",
            "check that it is switched on and that its address, user and key in the cluster file are right",
        )
        for name, why in missing.items()
    ]
