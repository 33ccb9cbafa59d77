"""What `corral doctor --fix` may do to a node: the deployment's own steps, and telling Slurm that all is well."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.files import Files, write_files
from corral.deploy.resources.service import Service
from corral.deploy.step import Change
from corral.deploy.steps import steps_for
from corral.slurm.text import Reason

# A node that was resumed answers the controller's next ping, a few seconds later.
_RESUME = """
said=$(scontrol -o show node {node} | sed -n 's/.* Reason=//p')
case "$said" in {reason}*) ;; *) echo "the reason is another one by now: $said"; exit 1;; esac
scontrol update nodename={node} state=resume || exit 1
tries=0
while scontrol -o show node {node} | grep -o ' State=[^ ]*' | grep -qE 'DOWN|DRAIN|UNKNOWN|NOT_RESPONDING|INVAL|\\*'; do
  tries=$((tries + 1)); [ $tries -le 150 ] || {{ scontrol -o show node {node} | grep -o 'State=[^ ]*'; exit 1; }}
  sleep 0.2
done
"""
_MOUNT = 'mount {mount} || systemctl start "$(systemd-escape -p --suffix=mount {mount})"'


def start(cluster: Cluster, node: Node, *units: str) -> Change | None:
    """Start the daemons again, one after another, each one ready before the next."""
    changes = [change for unit in units if (change := _restart(cluster, node, unit)) is not None]
    return _one_after_another(changes)


def restore_munge_key(cluster: Cluster, node: Node) -> Change | None:
    """Put the cluster's own key back, and start again what had the wrong one."""
    key = [
        write_files(step.files, "restore the munge key")
        for step in steps_for(cluster, node)
        if isinstance(step, Files) and step.name == "munge files"
    ]
    restarts = [_restart(cluster, node, unit) for unit in ("munge", "slurmd")]
    return _one_after_another([*key, *(change for change in restarts if change is not None)])


def resume(node: str, reason: Reason) -> Change:
    """Tell Slurm that the node is fine, unless somebody has given another reason in the meantime."""
    script = _RESUME.format(node=node, reason=shlex.quote(reason.text))
    return Change(f"resume {node}", script, timeout_s=60)


def mount_shared(mount: str) -> Change:
    return Change(f"mount {mount}", _MOUNT.format(mount=shlex.quote(mount)))


def _restart(cluster: Cluster, node: Node, unit: str) -> Change | None:
    for step in steps_for(cluster, node):
        if isinstance(step, Service) and step.name == unit:
            # A node that is down for another reason answers all the same: resuming it comes later.
            answers = f"scontrol -o show node {node.name} | grep -o ' State=[^ ]*' | grep -qvE 'NOT_RESPONDING|\\*'"
            return (replace(step, ready=answers) if unit == "slurmd" else step).diff("stopped")
    return None


def _one_after_another(changes: Sequence[Change]) -> Change | None:
    """One change that does all of these; only the first may read anything."""
    if not changes:
        return None
    summary = ", then ".join(change.summary.split(":")[0] for change in changes)
    script = "".join(f"(\n{change.script}\n) || exit 1\n" for change in changes)
    return Change(summary, script, changes[0].stdin, timeout_s=sum(change.timeout_s for change in changes))
