"""Corral's own daemon on the head: it keeps what people submitted in step with what Slurm knows of it."""

from __future__ import annotations

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.service import daemon
from corral.deploy.step import Step
from corral.deploy.steps.program import FOLDER, VERSION
from corral.deploy.steps.site import SITE
from corral.deploy.storage import storage_of

KEEPER = "corral-keeper"
HEARTBEAT = "/run/corral/keeper"
"""A file that the keeper touches whenever it went round once."""
_SILENT_AFTER_S = 60


def steps(cluster: Cluster, node: Node) -> list[Step]:
    if "head" not in node.roles or cluster.spec.jobs_folder is None:
        return []
    return daemon(
        node,
        KEEPER,
        files=[],
        reads=(VERSION, SITE),
        ready=f"find {HEARTBEAT} -newermt '-{_SILENT_AFTER_S} seconds' | grep -q .",
        after=("packages",),
        starts_after=("program", "site", "slurmctld", "shared folder", "jobs folder"),
        library=f"{FOLDER}/lib",
        heartbeat=HEARTBEAT,
        storage=storage_of(cluster, node),
    )
