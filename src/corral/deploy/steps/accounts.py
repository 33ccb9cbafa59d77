"""Service accounts, with the same ids on every machine: files and messages carry numbers, not names."""

from __future__ import annotations

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.apt import INSTALLED
from corral.deploy.resources.script import Script
from corral.deploy.step import Step

# Debian fixes slurm's id; munge's differs per release and slurmrest has no package, so both are ours.
SERVICE_IDS = {"munge": 930, "slurm": 64030, "slurmrest": 931}

_SERVICE_LOOK = """
have=$(getent passwd {names} | cut -d: -f1,3,4)
for account in {wanted}; do case " "$(echo $have)" " in *" $account "*) ;; *) echo "$account";; esac; done
"""
_SERVICE_ACT = """
old=$(id -u {name} 2>/dev/null)
if [ "$old:$(id -g {name} 2>/dev/null)" = {id}:{id} ]; then :
elif [ -n "$old" ]; then
  # An account in use cannot be renumbered; its daemon is started again by its own step.
  pkill -KILL -u $old
  groupmod -g {id} {name}; usermod -u {id} -g {id} {name} || exit 1
  find /etc/{name} /var/lib/{name} /var/log/{name} /run/{name} -user $old -exec chown -h {id}:{id} {{}} + 2>/dev/null
else
  mkdir -p /etc/corral && echo "account {name}" >> {installed}
  if getent group {name} >/dev/null; then groupmod -g {id} {name}; else groupadd -r -g {id} {name}; fi || exit 1
  useradd -r -M -u {id} -g {id} -s /usr/sbin/nologin -d /nonexistent {name} || exit 1
fi
"""


def steps(_cluster: Cluster, node: Node) -> list[Step]:
    names = [name for name in SERVICE_IDS if name != "slurmrest" or "head" in node.roles]
    services = [{"name": name, "id": SERVICE_IDS[name]} for name in names]
    return [
        Script(
            "service accounts",
            look=_SERVICE_LOOK.format(
                names=" ".join(names),
                wanted=" ".join(f"{service['name']}:{service['id']}:{service['id']}" for service in services),
            ),
            act="".join(_SERVICE_ACT.format(installed=INSTALLED, **service) for service in services),
            doing="give the service accounts the same ids everywhere",
        )
    ]
