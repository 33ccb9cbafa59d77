"""Slurm's REST service: its own user, tokens only, and only on the cluster's network."""

from __future__ import annotations

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.service import daemon
from corral.deploy.step import Step


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
        # Without a token it must answer, and the answer must be a refusal.
        ready=f"curl -s -o /dev/null http://{node.address}:6820/",
        after=("packages",),
        starts_after=("slurmctld",),
        address=node.address,
    )
