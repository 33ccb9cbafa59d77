"""What could stand in the way on a machine: read with the facts, in the same round trip, changing nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Mirror = Literal["reachable", "unreachable", "not asked"]

# Only a machine that still needs packages is asked about its mirror, by the way apt itself would take.
SCRIPT = r"""
exec 2>/dev/null
echo "time=$(date +%s.%N)"
echo "hostname=$(cat /proc/sys/kernel/hostname)"
echo "machine_id=$(cat /etc/machine-id)"
df -Pk / /var | awk 'NR == 2 {print "free_kib=/ " $4} NR == 3 {print "free_kib=/var " $4}'
ip -o addr show scope global | awk '{sub("/.*", "", $4); print "address=" $4}'
ss -Hltnp 'sport >= :6817 and sport <= :6820' |
  sed -n 's/^[^ ]* *[0-9]* *[0-9]* *[^ ]*:\([0-9]*\) [^"]*\("\([^"]*\)"\)\{0,1\}.*/port=\1 \3/p'
for file in /etc/slurm/slurm.conf /etc/slurm-llnl/slurm.conf /usr/local/etc/slurm.conf; do
  [ -e $file ] || continue
  read -r first < $file
  case $first in "# Written by Corral"*) by=corral;; *) by=others;; esac
  echo "slurm_conf=$by $file $(sed -n 's/^ClusterName=//Ip' $file)"
done
for list in /var/lib/dpkg/info/slurm-smd*.list; do
  [ -e $list ] && basename $list .list | sed 's/^/foreign_package=/'
done
for key in kernel/apparmor_restrict_unprivileged_userns kernel/unprivileged_userns_clone user/max_user_namespaces; do
  [ -r /proc/sys/$key ] && echo "sysctl=$key $(cat /proc/sys/$key)"
done
if [ ! -x /usr/bin/scontrol ]; then
  uri=$(apt-get update --print-uris | sed -n "1s/^'\([^']*\)'.*/\1/p")
  echo "mirror_uri=$uri"
  target=$(mktemp)
  if timeout 15 /usr/lib/apt/apt-helper -o Acquire::Retries=0 -o Acquire::http::Timeout=8 -o Acquire::https::Timeout=8 \
    download-file "$uri" "$target.new" >/dev/null; then echo mirror=reachable; else echo mirror=unreachable; fi
  rm -f "$target" "$target.new"
fi
true
"""


@dataclass(frozen=True, slots=True)
class SlurmConf:
    """A slurm.conf that is already there."""

    path: str
    is_ours: bool
    cluster: str


@dataclass(frozen=True, slots=True)
class Survey:
    """One machine as it was found, beyond what a deployment depends on."""

    hostname: str
    machine_id: str
    clock_offset_s: float
    """How far the machine's clock is ahead of this computer's, as far as that is certain."""
    free_bytes: Mapping[str, int]
    addresses: tuple[str, ...]
    ports: Mapping[int, str]
    """Which program listens on Slurm's ports; nameless where the kernel does not tell."""
    slurm_confs: tuple[SlurmConf, ...]
    foreign_packages: tuple[str, ...]
    """Slurm packages that are not the distribution's own."""
    sysctls: Mapping[str, str]
    mirror: Mirror
    mirror_uri: str


def parse(output: str, asked_at: float, answered_at: float) -> Survey:
    """Turn what `SCRIPT` printed between two moments of this computer's clock into a survey."""
    found = lines_by_key(output)
    mirror = found["mirror"][0] if found.get("mirror") else ""
    return Survey(
        hostname=found["hostname"][0],
        machine_id=found["machine_id"][0],
        clock_offset_s=clock_offset(float(found["time"][0]), asked_at, answered_at),
        free_bytes={place: int(kib) * 1024 for place, kib in _pairs(found.get("free_kib", []))},
        addresses=tuple(found.get("address", [])),
        ports={int(port): program for port, program in _pairs(found.get("port", []))},
        slurm_confs=tuple(_conf(line) for line in found.get("slurm_conf", [])),
        foreign_packages=tuple(found.get("foreign_package", [])),
        sysctls=dict(_pairs(found.get("sysctl", []))),
        mirror="reachable" if mirror == "reachable" else "unreachable" if mirror else "not asked",
        mirror_uri=found.get("mirror_uri", [""])[0],
    )


def lines_by_key(output: str) -> dict[str, list[str]]:
    """`key=value` lines, of which a key may have several."""
    found: dict[str, list[str]] = {}
    for line in output.splitlines():
        key, separator, value = line.partition("=")
        if separator:
            found.setdefault(key, []).append(value)
    return found


def _pairs(values: list[str]) -> list[tuple[str, str]]:
    return [(first, rest) for first, _, rest in (value.partition(" ") for value in values)]


def clock_offset(there: float, asked_at: float, answered_at: float) -> float:
    """How far a clock is ahead of this computer's, as far as that is certain: a slow answer is not a fast clock."""
    if there > answered_at:
        return there - answered_at
    return min(0.0, there - asked_at)


def _conf(line: str) -> SlurmConf:
    by, path, cluster = line.split(" ", 2)
    return SlurmConf(path, by == "corral", cluster)
