"""What the head and the machines say about a node's health: two scripts, and their answers as data.

Neither script changes anything. The head is asked first: the machines are then shown a message that it signed, and
asked for the files that it counts on.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from corral.deploy.survey import clock_offset
from corral.slurm.text import DETAILS_SCRIPT, NodeDetails, parse_node_details

SPOOL = "/var/lib/slurm/slurmd"
_LOG = "/var/log/slurm"
_CONFIGURATION = ("slurm.conf", "gres.conf", "cgroup.conf")
_NODES = "--nodes--"

_KNOCK = """
knock() { # what address port: says whether something listens there, nothing does, or nobody answers
  said=$(timeout 2 bash -c "exec 3<>/dev/tcp/$2/$3" 2>&1); code=$?
  case "$code $said" in 0*) echo "$1 open";; *refused*) echo "$1 refused";; *) echo "$1 silent";; esac
}
"""
_HEAD = """
echo "clock=$(date +%s.%N)"
echo "credential=$(munge -n 2>/dev/null)"
echo "slurm=$(slurmctld -V 2>/dev/null | awk '{{print $2}}')"
(cd /etc/slurm && sha256sum {files} 2>/dev/null) | sed 's/^/sum=/'
sha256sum -c --status /run/corral/slurmctld.loaded 2>/dev/null || echo edited=yes
sed -n 's/^NodeName=\\([^ ]*\\) .*File=\\([^ ]*\\).*/gpu=\\1 \\2/p' /etc/slurm/gres.conf 2>/dev/null
{knocks}
wait
echo {marker}
# Slurm's commands wait long for a controller that is not there.
if pidof slurmctld >/dev/null; then {details} 2>/dev/null; fi
"""
_MACHINE = """
echo "clock=$(date +%s.%N)"
for unit in {units}; do
  if [ -d /run/systemd/system ]; then state=$(systemctl is-active $unit)
  else state=$(supervisorctl status $unit | awk '{{print tolower($2)}}' | sed 's/running/active/'); fi
  echo "unit=$unit $state"
done
read -r credential
if [ -n "$credential" ]; then
  printf '%s' "$credential" | timeout 5 unmunge -n >/dev/null 2>&1; echo "munge=$?"
fi
echo "slurm=$(slurmd -V 2>/dev/null | awk '{{print $2}}')"
(cd /run/slurm/conf 2>/dev/null && sha256sum {files} 2>/dev/null) | sed 's/^/sum=/'
for device in {devices}; do [ -e $device ] || echo "absent=$device"; done
for place in {places}; do [ -d $place ] && df -Pk $place | awk 'NR == 2 {{print "room=" $4, $6}}'; done
ps -eo stat=,pid=,comm= | awk '$1 ~ /^D/ && $3 !~ /^(kworker|jbd2|kswapd)/ {{print "stuck=" $2 " (" $3 ")"}}' | head -5
echo "log=$(grep -E 'fatal:|error:' {log}/slurmd.log 2>/dev/null | tail -1 | sed 's/^\\[[^]]*\\] //')"
echo "slurmd_s=$(ps -o etimes= -C slurmd | sort -n | tail -1)"
knock controller= {head} 6817
{mount}
true
"""
_MOUNT = """
if ! at=$(timeout 5 findmnt -n -o TARGET -T {mount} 2>/dev/null) || [ "$at" = / ]; then
  echo mount=missing
  {{ findmnt -n --fstab {mount} || systemctl cat "$(systemd-escape -p --suffix=mount {mount})"; }} >/dev/null 2>&1 &&
    echo mountable=yes
elif ! timeout 5 ls {mount} >/dev/null 2>&1; then echo mount=hangs
fi
"""


@dataclass(frozen=True, slots=True)
class HeadEvidence:
    """What the head knows: the controller's listing, and how each node's slurmd port looks from there."""

    nodes: Mapping[str, NodeDetails]
    ports: Mapping[str, str]
    gpus: Mapping[str, tuple[str, ...]]
    sums: Mapping[str, str]
    slurm: str
    edited: bool
    """Its configuration files are not the ones that slurmctld loaded."""
    clock_s: float
    """How far its clock is ahead of this computer's."""
    credential: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class MachineEvidence:
    """What one machine says of itself."""

    clock_s: float
    """How far its clock is ahead of this computer's."""
    units: Mapping[str, str]
    munge: int | None
    """How `unmunge` ended on the head's message; None where the head could not sign one."""
    slurm: str
    sums: Mapping[str, str]
    absent: tuple[str, ...]
    """GPU device files that Slurm counts on and that are not there."""
    room_kib: Mapping[str, int]
    """Free space by mount point."""
    stuck: tuple[str, ...]
    log: str
    controller: str
    mount: str
    """`missing`, `hangs`, or empty when all is well."""
    mountable: bool
    slurmd_s: int | None = None
    """For how long slurmd has run."""


def head_script(addresses: Mapping[str, str]) -> str:
    knocks = "\n".join(f"knock port={name} {address} 6818 &" for name, address in addresses.items())
    files = " ".join(_CONFIGURATION)
    return _KNOCK + _HEAD.format(files=files, knocks=knocks, marker=_NODES, details=DETAILS_SCRIPT)


def machine_script(*, units: Sequence[str], devices: Sequence[str], head: str, mount: str | None) -> str:
    """The script for one machine; the head's signed message comes on its stdin."""
    return _KNOCK + _MACHINE.format(
        units=" ".join(units),
        files=" ".join(_CONFIGURATION),
        devices=" ".join(shlex.quote(device) for device in devices),
        places=f"{SPOOL} {_LOG}",
        log=_LOG,
        head=head,
        mount=mount_script(mount) if mount else "",
    )


def mount_script(mount: str) -> str:
    """Print `mount=missing` or `mount=hangs` where that is so, and `mountable=yes` where somebody said how."""
    return _MOUNT.format(mount=shlex.quote(mount))


def parse_head(output: str, asked_at_s: float, answered_at_s: float) -> HeadEvidence:
    """Turn what the head printed between two moments of this computer's clock into evidence."""
    said, _, listing = output.partition(f"{_NODES}\n")
    fields = _fields(said)
    gpus: dict[str, tuple[str, ...]] = {}
    for name, device in (value.split(" ", 1) for value in fields.get("gpu", ())):
        gpus[name] = (*gpus.get(name, ()), device)
    return HeadEvidence(
        nodes=parse_node_details(listing),
        ports=dict(_pair(value) for value in fields.get("port", ())),
        gpus=gpus,
        sums=_sums(fields),
        slurm=_one(fields, "slurm"),
        edited="edited" in fields,
        clock_s=clock_offset(float(_one(fields, "clock")), asked_at_s, answered_at_s),
        credential=_one(fields, "credential"),
    )


def parse_machine(output: str, asked_at_s: float, answered_at_s: float) -> MachineEvidence:
    """Turn what a machine printed between two moments of this computer's clock into evidence."""
    fields = _fields(output)
    munge, slurmd_s = _one(fields, "munge"), _one(fields, "slurmd_s").strip()
    return MachineEvidence(
        clock_s=clock_offset(float(_one(fields, "clock")), asked_at_s, answered_at_s),
        units=dict(_pair(value) for value in fields.get("unit", ())),
        munge=int(munge) if munge else None,
        slurm=_one(fields, "slurm"),
        sums=_sums(fields),
        absent=tuple(fields.get("absent", ())),
        room_kib={place: int(free) for free, place in (_pair(value) for value in fields.get("room", ()))},
        stuck=tuple(fields.get("stuck", ())),
        log=_one(fields, "log"),
        controller=_one(fields, "controller").strip(),
        mount=_one(fields, "mount"),
        mountable="mountable" in fields,
        slurmd_s=int(slurmd_s) if slurmd_s else None,
    )


def _fields(output: str) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    for line in output.splitlines():
        key, found, value = line.partition("=")
        if found:
            fields.setdefault(key, []).append(value)
    return fields


def _one(fields: Mapping[str, Sequence[str]], key: str) -> str:
    return fields[key][0] if key in fields else ""


def _pair(value: str) -> tuple[str, str]:
    first, _, second = value.partition(" ")
    return first, second


def _sums(fields: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {name.strip(): checksum for checksum, name in (_pair(value) for value in fields.get("sum", ()))}
