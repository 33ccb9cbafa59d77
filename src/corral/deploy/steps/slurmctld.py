"""The controller, with the configuration that it hands to every node."""

from __future__ import annotations

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.files import File
from corral.deploy.resources.service import daemon
from corral.deploy.slurmconf import cgroup_conf, gres_conf, slurm_conf
from corral.deploy.step import Step

SLURM_CONF = "/etc/slurm/slurm.conf"

# Slurm 26.05 does not start again after a crash before its first state save, so the save is part of being up.
_READY = (
    "scontrol ping | grep -q 'is UP' && "
    "{ [ -e /var/lib/slurm/slurmctld/assoc_usage ] || { scontrol reconfigure; false; }; }"
)


def steps(cluster: Cluster, node: Node) -> list[Step]:
    if "head" not in node.roles:
        return []
    return daemon(
        node,
        "slurmctld",
        files=[
            File(SLURM_CONF, slurm_conf(cluster)),
            File("/etc/slurm/gres.conf", gres_conf(cluster)),
            File("/etc/slurm/cgroup.conf", cgroup_conf(cluster)),
        ],
        reads=(
            "/usr/sbin/slurmctld",
            "/etc/slurm/jwt_hs256.key",
        ),
        ready=_READY,
        after=("packages",),
        starts_after=("slurmdbd", "slurm cluster", "munge", "hosts file", "hostname"),
    )
