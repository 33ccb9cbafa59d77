"""People: the same account with the same id everywhere, a home, and the keys that may log in.

Each machine keeps a roll of the people that Corral gave an account (`made`) or found with one (`found`). Whoever
leaves the cluster file is disabled if Corral made the account, and loses no data; what was found stays as it was,
but for the keys that Corral had added.
"""

from __future__ import annotations

import shlex

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.script import Script
from corral.deploy.step import Step
from corral.deploy.storage import storage_of

ROLL = "/etc/corral/users"

_SHELL = f"""
roll={ROLL}
kind() {{ awk -v name="$1" '$1 == name {{ print $3 }}' $roll 2>/dev/null; }}
expired() {{ [ "$(getent shadow "$1" | cut -d: -f8)" = 1 ]; }}
home_of() {{ getent passwd "$1" | cut -d: -f6; }}
left() {{ # people of the roll that the file no longer names
  [ -e $roll ] || return
  while read -r name uid kind; do case " $people " in *" $name "*) ;; *) echo "$name $uid $kind";; esac; done < $roll
}}
"""

_LOOK = """
person() { # name uid home
  [ "$(id -u $1 2>/dev/null):$(id -g $1 2>/dev/null)" = $2:$2 ] || { echo "$1 has no account with id $2"; return; }
  case $(kind $1) in
    "") echo "$1 is not on the roll";;
    made) ! expired $1 || echo "$1 is disabled"
      [ "$(home_of $1)" = $3 ] || echo "$1 has the home $(home_of $1), not $3";;
  esac
}
gone() {
  left | while read -r name uid kind; do
    [ $kind = found ] || expired $name || echo "$name is no longer in the cluster file"
  done
}
"""

# The roll is written before the account is made: an interrupted run then still knows whose work it was.
_ACT = """
mkdir -p ${roll%/*}; touch $roll
person() { # name uid home
  if [ -z "$(kind $1)" ]; then
    if id $1 >/dev/null 2>&1; then echo $1 $2 found >> $roll; else echo $1 $2 made >> $roll; fi
  fi
  if ! getent group $1 >/dev/null; then groupadd -g $2 $1 || exit 1; fi
  if ! id $1 >/dev/null 2>&1; then useradd -u $2 -g $1 -M -d $3 -s /bin/bash $1 || exit 1; fi
  if [ "$(id -u $1):$(id -g $1)" != $2:$2 ]; then
    echo "$1 exists here with id $(id -u $1) and group $(id -g $1), the cluster needs $2 for both."
    echo "Try: give the user 'uid: $(id -u $1)' in the cluster file, or renumber the account."; exit 1
  fi
  [ "$(kind $1)" = made ] || return 0
  if expired $1; then usermod -e '' -s /bin/bash $1 || exit 1; usermod -U $1 2>/dev/null; fi
  if [ "$(home_of $1)" != $3 ]; then
    echo "the files of $1 in $(home_of $1) stay there"; usermod -d $3 $1 || exit 1
  fi
}
gone() {
  left | while read -r name uid kind; do
    [ $kind = found ] || usermod -L -e 1 -s /usr/sbin/nologin $name
  done
}
"""

# A shared home is its owner's alone: where root is squashed, even root must come as the owner.
_HOMES = """
as() { id=$1; shift; setpriv --reuid $id --regid $id --clear-groups "$@"; }
kept_here() { %(kept_here)s; }
block() { as $1 sed -n '/^# corral: begin$/,/^# corral: end$/p' $2/.ssh/authorized_keys 2>/dev/null; }
wanted() { [ $# = 0 ] || printf '%%s\\n' '# corral: begin' "$@" '# corral: end'; }
settled() { # uid home key...
  [ "$(block $1 $2)" = "$(shift 2; wanted "$@")" ] && ! as $1 test -e $2/.ssh/authorized_keys.disabled
}
"""

_HOMES_LOOK = """
home() { # name uid key...
  name=$1 uid=$2 home=$(home_of $1); shift 2
  if [ -z "$home" ]; then echo "$name has no home"; return; fi
  kept_here $home || return
  [ -d $home ] || { echo "$name has no home"; return; }
  settled $uid $home "$@" || echo "the SSH keys of $name differ"
}
shut() {
  left | while read -r name uid kind; do
    home=$(home_of $name); kept_here $home || continue
    case $kind in
      made) ! as $uid test -e $home/.ssh/authorized_keys || echo "$name left and still has SSH keys";;
      found) [ -z "$(block $uid $home)" ] || echo "$name left and still has SSH keys";;
    esac
  done
}
"""

_HOMES_ACT = """
write_keys() { # uid home key...: what the owner wrote beside our block stays
  uid=$1 home=$2; shift 2
  wanted "$@" | as $uid sh -c '
    umask 077; mkdir -p "$1/.ssh" && cd "$1/.ssh" || exit 1
    { cat authorized_keys.disabled authorized_keys 2>/dev/null | sed "/^# corral: begin$/,/^# corral: end$/d"; cat; } \
      > .authorized_keys.corral && mv .authorized_keys.corral authorized_keys && rm -f authorized_keys.disabled
    ' sh $home
}
home() { # name uid key...
  uid=$2 home=$(home_of $1)
  kept_here $home || return 0
  if ! [ -d $home ]; then
    { mkdir -m 700 $home && cp -r /etc/skel/. $home && chown -R $uid:$uid $home; } 2>/dev/null ||
      as $uid sh -c 'mkdir -p -m 700 "$1" && cp -r /etc/skel/. "$1"' sh $home ||
      { echo "$home cannot be made here. Try: make it on the server, owned by $uid:$uid"; exit 1; }
  fi
  shift 2
  settled $uid $home "$@" || write_keys $uid $home "$@" || exit 1
}
shut() {
  left | while read -r name uid kind; do
    home=$(home_of $name); kept_here $home || continue
    case $kind in
      made) keys=$home/.ssh/authorized_keys; ! as $uid test -e $keys || as $uid mv $keys $keys.disabled;;
      found) write_keys $uid $home;;
    esac
  done
}
"""


def steps(cluster: Cluster, node: Node) -> list[Step]:
    spec = cluster.spec
    people = f"people='{' '.join(spec.users)}'\n"
    accounts = "".join(f"person {name} {spec.uid(name)} {spec.home(name)}\n" for name in spec.users) + "gone\n"
    homes = _HOMES % {"kept_here": _kept_here(cluster, node)}
    keys = "".join(
        f"home {name} {spec.uid(name)} {' '.join(shlex.quote(key) for key in user.ssh_keys)}\n"
        for name, user in spec.users.items()
    )
    keys += "shut\n"
    return [
        Script(
            "people",
            look=people + _SHELL + _LOOK + accounts,
            act=people + _SHELL + _ACT + accounts,
            doing="create, change or disable the users' accounts",
        ),
        Script(
            "homes",
            look=people + _SHELL + homes + _HOMES_LOOK + keys,
            act=people + _SHELL + homes + _HOMES_ACT + keys,
            doing="give the users their homes and SSH keys",
            after=("people", "shared folder"),
        ),
    ]


def _kept_here(cluster: Cluster, node: Node) -> str:
    """A test whether this machine takes care of the home $1: of a shared one its keeper does, while it is there."""
    storage = storage_of(cluster, node)
    if storage is None:
        return "true"
    there = f"timeout -s KILL 10 test -e {storage.marker}" if storage.is_keeper else "false"
    return f"case $1 in {storage.shared.homes}/*) {there};; *) true;; esac"
