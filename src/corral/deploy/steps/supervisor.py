"""Where there is no systemd, as in a rented pod, supervisord runs the daemons."""

from __future__ import annotations

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.script import Script
from corral.deploy.step import Step


def steps(_cluster: Cluster, node: Node) -> list[Step]:
    if node.facts.service_manager != "supervisord":
        return []
    return [
        Script(
            "supervisor",
            look="supervisorctl pid >/dev/null 2>&1 || echo supervisord is not running",
            act="supervisord -c /etc/supervisor/supervisord.conf",
            doing="start supervisord",
            after=("packages",),
        )
    ]
