"""Log rotation comes with Slurm's packages; that of 22.05 cannot signal daemons that do not run as root."""

from __future__ import annotations

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.files import File, Files
from corral.deploy.step import Step
from corral.deploy.templates import render


def steps(_cluster: Cluster, node: Node) -> list[Step]:
    if "head" not in node.roles or (node.facts.slurm_version or (23, 0)) >= (23, 0):
        return []
    files = [
        File(f"/etc/logrotate.d/{daemon}", render("etc/logrotate.d/slurm", daemon=daemon))
        for daemon in ("slurmctld", "slurmdbd")
    ]
    return [Files("log rotation", files, after=("packages",))]
