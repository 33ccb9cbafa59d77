"""What Corral wants of a cluster, written down as an Ansible inventory with the files to copy.

Both tools then write the same bytes, and no template or Slurm command exists twice.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from corral.deploy.cluster import Cluster, Node
from corral.deploy.plan import Graph
from corral.deploy.resources.files import File, Files
from corral.deploy.resources.script import Script
from corral.deploy.resources.service import Service
from corral.deploy.step import Step
from corral.deploy.steps.accounts import SERVICE_IDS
from corral.deploy.steps.packages import needed
from corral.hosts.machine import Machine
from corral.workflows.session import graph_of

_OTHER_FILES = ("inventory", "log rotation", "site")
"""Steps with files that belong to no daemon; not every machine and release has them."""
_HEAD_ONLY = ("mariadb", "slurmdbd", "slurmctld", "slurmrestd")

Vars = dict[str, object]


def write_inventory(cluster: Cluster, machines: Sequence[Machine], folder: Path) -> Path:
    """Write `inventory.json`, `known_hosts` and the files of every host below a folder; return the inventory."""
    folder.mkdir(parents=True, exist_ok=True)
    known_hosts = folder / "known_hosts"
    known_hosts.write_text("".join(f"{machine.address} {machine.host_key}\n" for machine in machines))
    graph = graph_of(cluster)
    hosts = {
        machine.name: _connection(machine, known_hosts) | _wanted(cluster, graph, machine.name, folder / "files")
        for machine in machines
    }
    inventory = {"all": {"hosts": hosts, "children": {role: _group(cluster, role) for role in ("head", "compute")}}}
    path = folder / "inventory.json"
    path.write_text(json.dumps(inventory, indent=1))
    return path


def _group(cluster: Cluster, role: str) -> Vars:
    return {"hosts": {name: {} for name, node in cluster.nodes.items() if role in node.roles}}


def _connection(machine: Machine, known_hosts: Path) -> Vars:
    return {
        "ansible_host": machine.address,
        "ansible_port": machine.port,
        "ansible_user": machine.user,
        "ansible_ssh_private_key_file": str(machine.identity_file),
        "ansible_ssh_common_args": f"-o UserKnownHostsFile={known_hosts} -o IdentitiesOnly=yes",
        # The same for both tools and on every release: local machines see this computer's, and the base starts fastest.
        "ansible_python_interpreter": os.path.realpath(sys.executable),
    }


def _wanted(cluster: Cluster, graph: Graph, name: str, files: Path) -> Vars:
    node = cluster.nodes[name]
    steps = {step.name: step for (host, _), step in graph.steps.items() if host == name}
    own = files / name
    services = [step for step in steps.values() if isinstance(step, Service)]
    return {
        "packages": list(needed(cluster, node)),
        "service_accounts": [
            {"name": account, "id": number}
            for account, number in SERVICE_IDS.items()
            if account != "slurmrest" or "head" in node.roles
        ],
        "hosts_block": "\n".join(f"{other.address}\t{other.name}" for other in cluster.nodes.values()),
        "unneeded": _unneeded(node),
        "daemons": {
            service.name: {
                "files": [_copy(file, own) for file in _files(steps, f"{service.name} files")],
                "ready": service.ready,
            }
            for service in services
        },
        "other_files": [_copy(file, own) for name in _OTHER_FILES for file in _files(steps, name)],
        "scripts": {step.name: {"look": step.look, "act": step.act} for step in _scripts(steps)},
    }


def _unneeded(node: Node) -> list[str]:
    return [*(() if "head" in node.roles else _HEAD_ONLY), *(() if "compute" in node.roles else ("slurmd",))]


def _files(steps: Mapping[str, Step], name: str) -> Sequence[File]:
    step = steps.get(name)
    return step.files if isinstance(step, Files) else ()


def _scripts(steps: Mapping[str, Step]) -> list[Script]:
    """Only what no module of Ansible's can do: the rest is written in the playbook."""
    names = ("accounting database", "slurm cluster", "slurm accounts")
    return [step for name, step in steps.items() if name in names and isinstance(step, Script)]


def _copy(file: File, folder: Path) -> Vars:
    """The arguments of Ansible's `copy` for one file, whose content is put below the folder."""
    source = folder / file.path.lstrip("/")
    source.parent.mkdir(parents=True, exist_ok=True)
    source.touch(mode=0o600)
    source.write_bytes(file.content)
    owner, _, group = file.owner.partition(":")
    return {"src": str(source), "dest": file.path, "owner": owner, "group": group, "mode": f"{file.mode:04o}"}
