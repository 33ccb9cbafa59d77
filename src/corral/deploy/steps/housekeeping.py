"""What keeps a machine tidy: no daemon that its roles do not need, and a memory of the cluster."""

from __future__ import annotations

import json

from corral.deploy import facts
from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.files import File, Files
from corral.deploy.resources.script import Script
from corral.deploy.step import Step

INVENTORY = "/etc/corral/inventory.json"
_HEAD_UNITS = ("mariadb", "slurmdbd", "slurmctld", "slurmrestd")


def steps(cluster: Cluster, node: Node) -> list[Step]:
    found: list[Step] = []
    if node.facts.service_manager == "supervisord":
        found.append(_SUPERVISOR)
    else:
        unneeded = (() if "head" in node.roles else _HEAD_UNITS) + (() if "compute" in node.roles else ("slurmd",))
        if unneeded:
            found.append(_off(unneeded))
    if "head" in node.roles:
        found.append(Files("inventory", [File(INVENTORY, _inventory(cluster))]))
    return found


# Packages enable every daemon they bring, on every machine.
def _off(units: tuple[str, ...]) -> Step:
    names = " ".join(units)
    services = " ".join(f"{unit}.service" for unit in units)
    return Script(
        "unneeded daemons",
        # Asking about each by itself takes more than twice as long.
        look=f"systemctl list-unit-files -q --no-legend --state=enabled,enabled-runtime {services} | cut -d. -f1",
        act=f"for unit in {names}; do systemctl -q disable --now $unit 2>/dev/null; done; true",
        doing="disable daemons that this machine's roles do not need",
        after=("packages",),
    )


_SUPERVISOR = Script(
    "supervisor",
    look="supervisorctl pid >/dev/null 2>&1 || echo supervisord is not running",
    act="rm -f /run/supervisor.sock; supervisord -c /etc/supervisor/supervisord.conf",
    doing="start supervisord",
    after=("packages",),
)


def _inventory(cluster: Cluster) -> bytes:
    """The facts of every machine: a machine that cannot be reached today keeps its place in slurm.conf."""
    known = {name: facts.to_json(node.facts) for name, node in cluster.nodes.items()}
    return (json.dumps({"cluster": cluster.spec.name, "machines": known}, indent=1) + "\n").encode()
