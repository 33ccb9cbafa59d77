"""The cluster while it is being checked: what is known of it so far, and which nodes may still be sent jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from corral.checks.finding import Finding
from corral.checks.ladder.jobs import Answer, Jobs
from corral.checks.ladder.pair_results import Pair
from corral.checks.ladder.thresholds import Thresholds
from corral.checks.node_case import Case
from corral.deploy.cluster import Cluster
from corral.hosts.base import Host
from corral.slurm.text import NodeDetails

_BUSY = ("ALLOCATED", "MIXED", "COMPLETING")


@dataclass
class Site:
    """Filled rung by rung: each one may leave nodes out, and leaves what it measured to those above it."""

    cluster: Cluster
    hosts: Mapping[str, Host]
    missing: Mapping[str, str]
    jobs: Jobs
    thresholds: Thresholds
    nodes: tuple[str, ...]
    """The compute nodes that are to be checked."""
    python: str = ""
    """A Python with torch that all nodes see, or nothing."""
    no_python: str = ""
    """Why there is none."""
    cases: Sequence[Case] = ()
    examined: Sequence[Finding] = ()
    """What the doctor finds: the lower rungs sort it."""
    unfit: dict[str, str] = field(default_factory=dict)
    """Nodes that are sent no jobs, with the reason in a few words."""
    pairs: Sequence[Pair] = ()
    proof: Answer | None = None
    """What came of the job with torch, which two rungs share."""

    @property
    def head(self) -> Host:
        return self.hosts[self.cluster.head.name]

    @property
    def fit(self) -> tuple[str, ...]:
        return tuple(name for name in self.nodes if name not in self.unfit)

    @property
    def busy(self) -> tuple[str, ...]:
        return tuple(name for name in self.nodes if self._is_busy(name))

    @property
    def others(self) -> tuple[str, ...]:
        """Every node that a job of ours must stay away from."""
        return tuple(node.name for node in self.cluster.compute_nodes if node.name not in self.fit)

    @property
    def together(self) -> tuple[str, ...]:
        """The fit nodes that one job can have: those of the partition that has most of them."""
        groups = [
            tuple(name for name in self.fit if partition.machines == "all" or name in partition.machines)
            for partition in self.cluster.spec.all_partitions.values()
        ]
        return max(groups, key=len)

    @property
    def slowest_bit_s(self) -> float:
        """What TCP carries between the worst pair; 0 where nobody measured."""
        return min((pair.slower_bit_s for pair in self.pairs if not pair.problem), default=0.0)

    def details(self, name: str) -> NodeDetails | None:
        """The node as the controller knows it."""
        return next((case.slurm for case in self.cases if case.name == name), None)

    def _is_busy(self, name: str) -> bool:
        details = self.details(name)
        return details is not None and (details.state in _BUSY or "COMPLETING" in details.flags)

    def gpus(self, name: str) -> int:
        """As declared to Slurm."""
        return len(self.cluster.nodes[name].gpus)

    @property
    def without(self) -> str:
        """For summaries: which nodes a rung did without."""
        left_out = [name for name in self.nodes if name in self.unfit]
        return f" (without {', '.join(left_out)})" if left_out else ""
