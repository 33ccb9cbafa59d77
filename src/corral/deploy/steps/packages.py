"""The distribution's packages that a machine's roles need."""

from __future__ import annotations

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources import apt
from corral.deploy.resources.script import Script
from corral.deploy.step import Step
from corral.deploy.storage import storage_of

_EVERYWHERE = ("munge", "slurm-client", "slurm-wlm-basic-plugins", "logrotate", "python3")
_HEAD = (
    "curl",
    "mariadb-server",
    "slurmctld",
    "slurmdbd",
    "slurmrestd",
    "slurm-wlm-jwt-plugin",
    "slurm-wlm-mysql-plugin",
)


def needed(cluster: Cluster, node: Node) -> tuple[str, ...]:
    """Package names, the same in every supported distribution."""
    names = list(_EVERYWHERE)
    if "head" in node.roles:
        names += _HEAD
    if "login" in node.roles:
        # It decides which files of a project go along with a job.
        names.append("git")
    if "compute" in node.roles:
        names.append("slurmd")
    if node.facts.service_manager == "supervisord":
        names.append("supervisor")
    storage = storage_of(cluster, node)
    if storage is not None and storage.is_server:
        names.append("nfs-kernel-server")
    elif storage is not None and storage.source:
        names.append("nfs-common")
    return tuple(names)


def steps(cluster: Cluster, node: Node) -> list[Step]:
    names = " ".join(needed(cluster, node))
    return [
        Script(
            "packages",
            look=(
                f"have=$(dpkg-query -W -f '${{Package}}=${{db:Status-Status}} ' {names} 2>/dev/null)\n"
                f'for name in {names}; do case " $have" in *" $name=installed "*) ;; *) echo $name;; esac; done'
                f"{apt.LEFTOVERS}"
            ),
            act=apt.install(names),
            doing="install the distribution's packages",
            # Packages take over accounts that exist: with ours there first, nothing has to be renumbered.
            after=("service accounts",),
            timeout_s=900,
        )
    ]
