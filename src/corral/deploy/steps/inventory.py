"""The head remembers the facts of every machine: one out of reach today keeps its place in slurm.conf."""

from __future__ import annotations

import json

from corral.deploy import facts
from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.files import File, Files
from corral.deploy.step import Step

INVENTORY = "/etc/corral/inventory.json"


def steps(cluster: Cluster, node: Node) -> list[Step]:
    if "head" not in node.roles:
        return []
    known = {name: facts.to_json(other.facts) for name, other in cluster.nodes.items()}
    content = json.dumps({"cluster": cluster.spec.name, "machines": known}, indent=1) + "\n"
    return [Files("inventory", [File(INVENTORY, content.encode())])]
