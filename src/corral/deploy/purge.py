"""The way back: a machine without anything that Corral brought, and with everything else."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from corral.deploy.resources.apt import INSTALLED
from corral.deploy.resources.files import Files
from corral.deploy.step import Step
from corral.deploy.steps.database import OTHER_DATABASES
from corral.deploy.steps.keeper import HEARTBEAT
from corral.deploy.steps.people import ROLL
from corral.deploy.steps.program import COMMAND, FOLDER
from corral.deploy.steps.storage import EXPORTS, NFS3_HELPERS
from corral.deploy.storage import Storage

_UNITS = "/etc/systemd/system/"
CANCEL_JOBS = """
scontrol ping 2>/dev/null | grep -q 'is UP' || exit 0
squeue -ho %A | xargs -r scancel
timeout 30 sh -c 'while squeue -h | grep -q .; do sleep 0.3; done'; true
"""
"""What runs would go on without anybody knowing of it."""

# Every line that it prints is something that stays, in words for people.
_PURGE = """
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
brought() {{ sed -n "s/^$1 //p" {installed} 2>/dev/null; }}
present() {{ dpkg-query -W -f '${{db:Status-Status}}' "$1" 2>/dev/null | grep -qx installed; }}
pkill -KILL -x slurmstepd

others=$({other_databases})
if present mariadb-server; then
  if [ -n "$others" ] || ! brought package | grep -qx mariadb-server; then
    mariadb --skip-ssl -e 'select 1' >/dev/null 2>&1 || {{ service mariadb start >/dev/null 2>&1; sleep 1; stop=yes; }}
    mariadb --skip-ssl -e 'drop database if exists slurm_acct_db; drop user if exists slurm@localhost' >&2 || exit 1
    [ -z "$stop" ] || service mariadb stop >/dev/null 2>&1
    echo "MariaDB${{others:+ with the databases of others: $others}}"
  fi
fi

[ -e {exports} ] && served=yes
rm -f {files}
! grep -qs 'Written by Corral' {command} || rm -f {command}
rm -rf {program}
find /etc/systemd/system -maxdepth 1 -name '*.service.d' -empty -delete 2>/dev/null
# What the kernel was told to export it goes on exporting.
if [ -x /usr/sbin/exportfs ]; then /usr/sbin/exportfs -ra; fi >/dev/null 2>&1

# dpkg refuses to take away what a package of somebody else needs; apt would take that package too.
for pass in 1 2 3; do
  names=$(for name in $(brought package); do
    [ -n "$others" ] && case $name in *mariadb*|*mysql*|galera*) continue;; esac
    present $name && echo $name
  done)
  [ -n "$names" ] && dpkg --purge $names >&2
done
for name in $names; do present $name && kept="$kept $name"; done
[ -z "$kept" ] || echo "packages that others need:$kept"
if [ -n "$served" ] && present nfs-kernel-server; then echo "the NFS server, without the shared folder"; fi

[ -n "$others" ] || present mariadb-server || rm -rf /var/lib/mysql
present mysql-common || rm -rf /etc/mysql
for folder in /etc/slurm /var/lib/slurm /var/log/slurm /etc/munge /var/lib/munge /var/log/munge; do
  [ -d $folder ] || continue
  # A package that was here before us keeps its empty folders.
  if present munge || present slurm-client; then find $folder ! -type d -delete; else rm -rf $folder; fi
done
for name in $(brought account); do
  present munge && [ $name = munge ] && continue
  userdel $name 2>/dev/null; groupdel $name 2>/dev/null
done

hosts=$(sed '/^# corral: begin$/,/^# corral: end$/d' /etc/hosts) && printf '%s\\n' "$hosts" > /etc/hosts
getent hosts "$(hostname)" >/dev/null || printf '127.0.1.1\\t%s\\n' "$(hostname)" >> /etc/hosts
rm -rf /run/corral/*.loaded {heartbeat} /var/backups/corral {installed} {roll}
rmdir /etc/corral /var/lib/corral/jobs /var/lib/corral 2>/dev/null
[ ! -d /var/lib/corral/jobs ] || echo "people's jobs in /var/lib/corral/jobs"
[ -d /run/systemd/system ] && systemctl daemon-reload && systemctl reset-failed
echo "the hostname $(hostname)"
"""


def unmount_script(steps: Iterable[Step]) -> str:
    """Let go of shared folders, on every machine before any of them stops serving; prints what is in use."""
    units = " ".join(
        shlex.quote(path.rpartition("/")[2]) for path in _files(steps) if path.startswith(_UNITS) and ".mount" in path
    )
    return f"""
for unit in {units}; do
  systemctl -q disable --now $unit 2>/dev/null || echo "the mount $unit, which is in use"
done
systemctl -q unmask {NFS3_HELPERS} 2>/dev/null; true
"""


def shared_folder_left_script(storage: Storage) -> str:
    """Print what a machine goes on doing for the shared folder without its daemons, in words for people."""
    if storage.is_server:
        look, words = f"nfs-server && [ -s {EXPORTS} ]", f"still serves {storage.shared.path}"
    elif storage.source:
        look, words = shlex.quote(storage.unit), f"still mounts {storage.source} on {storage.mount}"
    else:
        return "true"
    return f"if systemctl -q is-active {look}; then echo '{words}'; fi 2>/dev/null"


def purge_script(steps: Iterable[Step], people: Iterable[str]) -> str:
    """Remove what the steps wrote and what was installed for them; people's accounts and data stay."""
    script = _PURGE.format(
        installed=INSTALLED,
        exports=EXPORTS,
        roll=ROLL,
        other_databases=OTHER_DATABASES,
        command=COMMAND,
        heartbeat=HEARTBEAT,
        program=FOLDER,
        files=" ".join(shlex.quote(path) for path in sorted(_files(steps))),
    )
    names = " ".join(people)
    return script + (f"echo 'the accounts and homes of {names}'\n" if names else "")


def _files(steps: Iterable[Step]) -> list[str]:
    return [file.path for step in steps if isinstance(step, Files) for file in step.files]
