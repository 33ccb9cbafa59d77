"""What a program on a machine must know of its cluster, and the folder of people's jobs where nothing is shared."""

from __future__ import annotations

import json

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.files import File, Files
from corral.deploy.resources.script import Script
from corral.deploy.step import Step

SITE = "/etc/corral/site.json"


def steps(cluster: Cluster, _node: Node) -> list[Step]:
    spec = cluster.spec
    site = {"cluster": spec.name, "head": spec.head, "rest": f"{cluster.address(spec.head)}:6820"}
    if spec.jobs_folder is not None:
        site["jobs"] = spec.jobs_folder
    found: list[Step] = [Files("site", [File(SITE, f"{json.dumps(site, indent=1)}\n".encode())])]
    if spec.storage is None and spec.jobs_folder is not None:
        found.append(_jobs_folder(spec.jobs_folder))
    return found


def _jobs_folder(path: str) -> Step:
    """On shared storage, the storage's own steps make it."""
    return Script(
        "jobs folder",
        look=f'[ "$(stat -c %a {path} {path}/.open 2>/dev/null | tr -d "\\n")" = 17771777 ] || echo {path}',
        act=f"mkdir -p {path}/.open && chmod 1777 {path} {path}/.open",
        doing="make the folder for jobs",
    )
