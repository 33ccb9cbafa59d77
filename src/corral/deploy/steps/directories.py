"""The directories that Slurm's daemons write to; not every release's packages make them."""

from __future__ import annotations

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.script import Script
from corral.deploy.step import Step

_OWNERS = {
    "/var/log/slurm": "slurm",
    "/var/lib/slurm": "slurm",
    "/var/lib/slurm/slurmctld": "slurm",
    "/var/lib/slurm/slurmd": "root",
}


def steps(_cluster: Cluster, _node: Node) -> list[Step]:
    wanted = " ".join(f"{path}={owner}" for path, owner in _OWNERS.items())
    return [
        Script(
            "slurm directories",
            look=(
                f"have=$(stat -c %n=%U {' '.join(_OWNERS)} 2>/dev/null)\n"
                f'for dir in {wanted}; do case " "$(echo $have)" " in *" $dir "*) ;; *) echo $dir;; esac; done'
            ),
            act=f"for dir in {wanted}; do install -d -o ${{dir#*=}} -g ${{dir#*=}} -m 755 ${{dir%=*}} || exit 1; done",
            doing="make Slurm's directories",
            after=("service accounts",),
        )
    ]
