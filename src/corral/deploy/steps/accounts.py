"""Service accounts and people, with the same ids on every machine: files and jobs carry numbers, not names."""

from __future__ import annotations

import shlex

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

_PERSON_LOOK = """
[ "$(id -u {name} 2>/dev/null):$(id -g {name} 2>/dev/null)" = {uid}:{uid} ] || echo "{name} has another id"
[ -d /home/{name} ] || echo "{name} has no home"
"""
_PERSON_ACT = """
if ! getent group {name} >/dev/null; then groupadd -g {uid} {name} || exit 1; fi
if ! id {name} >/dev/null 2>&1; then useradd -u {uid} -g {uid} -m -s /bin/bash {name} || exit 1; fi
if [ "$(id -u {name})" != {uid} ]; then
  echo "{name} exists here with id $(id -u {name}), the cluster needs {uid}."
  echo "Try: give the user 'uid: $(id -u {name})' in the cluster file, or renumber the account."; exit 1
fi
if ! [ -d /home/{name} ]; then
  cp -r /etc/skel /home/{name} && chown -R {uid}:{uid} /home/{name} && chmod 700 /home/{name} || exit 1
fi
"""
_KEYS_LOOK = """
printf '%s\\n' {keys} | cmp -s - /home/{name}/.ssh/authorized_keys || echo "the SSH keys of {name} differ"
"""
_KEYS_ACT = """
install -d -o {uid} -g {uid} -m 700 /home/{name}/.ssh
printf '%s\\n' {keys} > /home/{name}/.ssh/authorized_keys
chown {uid}:{uid} /home/{name}/.ssh/authorized_keys && chmod 600 /home/{name}/.ssh/authorized_keys
"""


def steps(cluster: Cluster, node: Node) -> list[Step]:
    names = [name for name in SERVICE_IDS if name != "slurmrest" or "head" in node.roles]
    services = [{"name": name, "id": SERVICE_IDS[name]} for name in names]
    found: list[Step] = [
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
    if cluster.spec.users:
        found.append(_people(cluster))
    return found


def _people(cluster: Cluster) -> Step:
    look, act = "", ""
    for name, user in cluster.spec.users.items():
        keys = " ".join(shlex.quote(key) for key in user.ssh_keys)
        values = {"name": name, "uid": cluster.spec.uid(name), "keys": keys}
        look += _PERSON_LOOK.format(**values) + (_KEYS_LOOK.format(**values) if keys else "")
        act += _PERSON_ACT.format(**values) + (_KEYS_ACT.format(**values) if keys else "")
    return Script("people", look=look, act=act, doing="create the users' accounts")
