"""slurmdbd on the head keeps accounting, limits and fair-share."""

from __future__ import annotations

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.files import File
from corral.deploy.resources.service import daemon
from corral.deploy.step import Step
from corral.deploy.templates import render

_CONF = "/etc/slurm/slurmdbd.conf"
JWT_KEY = "/etc/slurm/jwt_hs256.key"


def steps(cluster: Cluster, node: Node) -> list[Step]:
    if "head" not in node.roles:
        return []
    return daemon(
        node,
        "slurmdbd",
        files=[
            File(
                _CONF,
                render(_CONF, head=node.name, names_resolve=cluster.names_resolve),
                owner="slurm:slurm",
                mode=0o600,
            ),
            File(JWT_KEY, cluster.secrets.jwt_key, owner="slurm:slurm", mode=0o600, secret=True),
        ],
        reads=("/usr/sbin/slurmdbd",),
        ready="sacctmgr -n list cluster",
        after=("packages",),
        starts_after=("munge", "accounting database", "hosts file", "slurmctld files"),
    )
