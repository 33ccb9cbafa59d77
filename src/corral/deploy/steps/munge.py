"""Munge signs Slurm's messages: every machine must hold the same key."""

from __future__ import annotations

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.files import File
from corral.deploy.resources.service import daemon
from corral.deploy.step import Step

MUNGE_KEY = "/etc/munge/munge.key"


def steps(cluster: Cluster, node: Node) -> list[Step]:
    key = File(MUNGE_KEY, cluster.secrets.munge_key, owner="munge:munge", mode=0o400, secret=True)
    return daemon(
        node,
        "munge",
        files=[key],
        ready="munge -n | unmunge",
        after=("packages",),
    )
