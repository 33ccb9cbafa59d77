"""Packages enable every daemon that they bring, on every machine: off with those that its roles do not need."""

from __future__ import annotations

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.script import Script
from corral.deploy.step import Step
from corral.deploy.steps.keeper import KEEPER

_HEAD_UNITS = ("mariadb", "slurmdbd", "slurmctld", "slurmrestd")


def steps(cluster: Cluster, node: Node) -> list[Step]:
    units = (() if "head" in node.roles else _HEAD_UNITS) + (() if "compute" in node.roles else ("slurmd",))
    if "head" not in node.roles or cluster.spec.jobs_folder is None:
        units += (KEEPER,)
    if not units or node.facts.service_manager != "systemd":
        return []
    names, services = " ".join(units), " ".join(f"{unit}.service" for unit in units)
    return [
        Script(
            "unneeded daemons",
            # Asking about each by itself takes more than twice as long.
            look=f"systemctl list-unit-files -q --no-legend --state=enabled,enabled-runtime {services} | cut -d. -f1",
            act=f"for unit in {names}; do systemctl -q disable --now $unit 2>/dev/null; done; true",
            doing="disable daemons that this machine's roles do not need",
            after=("packages",),
        )
    ]
