"""The controller, with the configuration that it hands to every node."""

from __future__ import annotations

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.files import File
from corral.deploy.resources.service import daemon
from corral.deploy.slurmconf import cgroup_conf, gres_conf, slurm_conf
from corral.deploy.step import Step

SLURM_CONF = "/etc/slurm/slurm.conf"


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
        reads=("/etc/slurm/jwt_hs256.key",),
        # An early crash of Slurm 26.05 before its first state save would keep it from starting again.
        ready="scontrol ping | grep -q 'is UP' && { [ -e /var/lib/slurm/slurmctld/assoc_usage ] || { scontrol reconfigure; false; }; }",
        after=("packages",),
        starts_after=("slurmdbd", "slurm accounts", "munge", "hosts file", "hostname"),
    )
