"""Everything that is known about one node, gathered for the rules."""

from __future__ import annotations

from dataclasses import dataclass

from corral.checks.catalogue import Kind
from corral.checks.finding import Finding, Severity
from corral.checks.node_evidence import HeadEvidence, MachineEvidence
from corral.deploy.cluster import Cluster, Node
from corral.deploy.step import Change
from corral.slurm.text import NodeDetails


@dataclass(frozen=True, slots=True)
class Case:
    """One machine: what the file wants of it, what the controller says, and what it says itself."""

    cluster: Cluster
    node: Node
    head: HeadEvidence
    machine: MachineEvidence | None
    """None where it could not be asked."""
    why_not: str = ""

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def slurm(self) -> NodeDetails | None:
        return self.head.nodes.get(self.name)

    @property
    def computes(self) -> bool:
        return "compute" in self.node.roles

    def finding(
        self, kind: Kind, what: str, *, fix: str = "", mend: Change | None = None, severity: Severity = "error"
    ) -> Finding:
        """A finding about this machine; without a better one, the advice is the catalogue's."""
        advice = (fix or kind.by_hand).replace("NAME", self.name)
        return Finding(severity, self.name, what, advice, mend, kind.name)
