"""A login machine that does not compute has no slurmd to bring it the configuration: it gets the file itself."""

from __future__ import annotations

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.files import File, Files
from corral.deploy.slurmconf import slurm_conf
from corral.deploy.step import Step


def steps(cluster: Cluster, node: Node) -> list[Step]:
    if node.roles != {"login"}:
        return []
    return [Files("slurm.conf", [File("/etc/slurm/slurm.conf", slurm_conf(cluster))], after=("packages",))]
