"""Slurm's REST service: its own user, tokens only, and only on the cluster's network."""

from __future__ import annotations

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.service import daemon
from corral.deploy.step import Step

# Port 6820 in state LISTEN, as the kernel writes it: not every machine has curl or ss.
_LISTENS = "grep -q ':1AA4 00000000:0000 0A' /proc/net/tcp"


def steps(_cluster: Cluster, node: Node) -> list[Step]:
    if "head" not in node.roles:
        return []
    return daemon(
        node,
        "slurmrestd",
        files=[],
        reads=(
            "/usr/sbin/slurmrestd",
            "/etc/slurm/slurm.conf",
        ),
        ready=_LISTENS,
        after=("packages",),
        starts_after=("slurmctld",),
        address=node.address,
    )
