"""Packages enable every daemon that they bring, on every machine: off with those that its roles do not need."""

from __future__ import annotations

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.script import Script
from corral.deploy.step import Step

_HEAD_UNITS = ("mariadb", "slurmdbd", "slurmctld", "slurmrestd")


def steps(_cluster: Cluster, node: Node) -> list[Step]:
    units = (() if "head" in node.roles else _HEAD_UNITS) + (() if "compute" in node.roles else ("slurmd",))
    if not units or node.facts.service_manager != "systemd":
        return []
    names = " ".join(units)
    return [
        Script(
            "unneeded daemons",
            look=f"for unit in {names}; do systemctl -q is-enabled $unit 2>/dev/null && echo $unit; done",
            act=f"for unit in {names}; do systemctl -q disable --now $unit 2>/dev/null; done; true",
            doing="disable daemons that this machine's roles do not need",
            after=("packages",),
        )
    ]
