"""The node daemon: its configuration comes from the controller, and it is done when the controller sees it."""

from __future__ import annotations

import hashlib

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.files import File
from corral.deploy.resources.service import daemon
from corral.deploy.slurmconf import cgroup_conf, gres_conf, slurm_conf
from corral.deploy.step import Step
from corral.deploy.storage import storage_of
from corral.deploy.templates import render

_OPTIONS = "/etc/default/slurmd"
# Where a configless slurmd keeps what the controller sent.
_RECEIVED = "/run/slurm/conf"

# Without systemd nobody hands the controllers down to where Slurm makes its cgroups.
_OWN_CGROUPS = (
    "mkdir -p /sys/fs/cgroup/system.slice; for dir in /sys/fs/cgroup /sys/fs/cgroup/system.slice; "
    'do echo "+cpuset +cpu +memory +pids" > $dir/cgroup.subtree_control; done; '
)


def steps(cluster: Cluster, node: Node) -> list[Step]:
    if "compute" not in node.roles:
        return []
    sent = {
        "slurm.conf": slurm_conf(cluster),
        "gres.conf": gres_conf(cluster),
        "cgroup.conf": cgroup_conf(cluster),
    }
    sums = "\n".join(f"{hashlib.sha256(content).hexdigest()}  {_RECEIVED}/{name}" for name, content in sent.items())
    show = f"scontrol show node {node.name}"
    return daemon(
        node,
        "slurmd",
        files=[File(_OPTIONS, render(_OPTIONS, head=cluster.head.name))],
        current=f"printf '%s\\n' '{sums}' | sha256sum -c --status",
        reads=("/usr/sbin/slurmd",),
        ready=f"{show} | grep -o 'State=[^ ]*' | grep -qvE 'DOWN|UNKNOWN|NOT_RESPONDING|INVAL|\\*'",
        complaint=f"{show} | grep -oE '(State|Reason)=.*'",
        after=("packages",),
        starts_after=(
            "munge",
            "hosts file",
            "hostname",
            "people",
            "homes",
            "shared folder",
            "head/slurmctld",
        ),
        own_cgroups=_OWN_CGROUPS if node.facts.cgroup == "v2" else "",
        absent=() if "head" in node.roles else ("/etc/slurm/slurm.conf",),
        storage=storage_of(cluster, node),
    )
