"""One thing that is wrong, in words that need no knowledge of Slurm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from corral.deploy.step import Change

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What, where, and how to mend it. An error stops `up` before it changes anything; a warning does not."""

    severity: Severity
    where: str
    """A machine's name, or the cluster's."""
    what: str
    """One sentence with the evidence: "driver 570.86 here, 580.95 on node1"."""
    fix: str
    """What a person can do about it, starting with a verb."""
    mend: Change | None = None
    """What `corral doctor --fix` may do by itself, on the machine `where`: only what is safe at any time."""
    kind: str = ""
    """Its name in the troubleshooting page, where it has one."""

    def to_json(self) -> dict[str, object]:
        return {
            "kind": self.kind,
            "severity": self.severity,
            "where": self.where,
            "what": self.what,
            "fix": self.fix,
            "can_mend": self.mend is not None,
        }
