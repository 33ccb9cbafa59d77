"""What a machine is made of, for people who write a cluster file; too slow to be read on every run."""

from __future__ import annotations

import re
from dataclasses import dataclass

from corral.deploy.survey import lines_by_key

SCRIPT = r"""
exec 2>/dev/null
ip -o link show | sed -n 's/^[0-9]*: \([^:@]*\)[^:]*:.* state \([A-Z]*\).*/\1 \2/p' | while read -r name state; do
  case $name in lo|docker*|veth*|virbr*|br-*|ifb*|dummy*|tap*) continue;; esac
  echo "link=$name|$state|$(cat /sys/class/net/$name/speed)|$(
    ip -o -4 addr show dev $name scope global | awk '{sub("/.*", "", $4); printf "%s ", $4}')"
done
for port in /sys/class/infiniband/*/ports/*; do
  [ -e $port/rate ] || continue
  device=${port%/ports/*}
  [ "$(cat $port/link_layer)" = InfiniBand ] && echo "infiniband=${device##*/}|$(cat $port/state)|$(cat $port/rate)"
done
for dir in /sys/block/*; do
  case ${dir##*/} in loop*|ram*|zram*|dm-*|md*|sr*|fd*|nbd*) continue;; esac
  [ "$(cat $dir/size)" != 0 ] && echo "disk=${dir##*/}|$(cat $dir/size)|$(cat $dir/queue/rotational)"
done
if command -v nvidia-smi >/dev/null; then
  timeout 20 nvidia-smi --query-gpu=name,memory.total --format=csv,noheader,nounits | sed 's/^/gpu=/'
  timeout 20 nvidia-smi | sed -n 's/.*CUDA Version: *\([0-9.]*\).*/cuda=\1/p'
fi
[ -r /usr/local/cuda/version.json ] &&
  echo "cuda_toolkit=$(sed -n '/"cuda" *:/,/}/s/.*"version" *: *"\([^"]*\)".*/\1/p' /usr/local/cuda/version.json)"
command -v lspci >/dev/null && lspci -mm -d 10de: |
  sed -n 's/^[^"]*"\(VGA\|3D\)[^"]*" "[^"]*" "\([^"]*\)".*/pci_name=\2/p'
for vendor in $(grep -lx 0x10de /sys/bus/pci/devices/*/vendor); do
  case $(cat ${vendor%vendor}class) in 0x0300*|0x0302*) echo "pci_gpu=$(cat ${vendor%vendor}device)";; esac
done
for name in slurmctld slurmd slurmdbd slurmrestd munged; do
  pidof $name >/dev/null && echo "daemon=$name"
done
dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\n' 'slurm*' munge | sed -n 's/^installed /package=/p'
true
"""

_SECTOR_BYTES = 512


@dataclass(frozen=True, slots=True)
class Link:
    """One network interface."""

    name: str
    is_up: bool
    rate_mbit: int | None
    """None where the kernel does not know, as for virtual interfaces."""
    addresses: tuple[str, ...] = ()
    is_infiniband: bool = False


@dataclass(frozen=True, slots=True)
class Disk:
    """One disk, whole."""

    name: str
    size_bytes: int
    is_rotating: bool


@dataclass(frozen=True, slots=True)
class Hardware:
    """Interfaces, disks and GPUs as their drivers name them, and the Slurm that is already there."""

    links: tuple[Link, ...]
    disks: tuple[Disk, ...]
    gpu_products: tuple[str, ...]
    """From nvidia-smi, or without a driver from the machine's own list of PCI names, or nothing."""
    pci_gpus: tuple[str, ...]
    """PCI device ids of NVIDIA GPUs, with or without a driver."""
    gpu_memory_mib: int | None
    cuda_version: str
    """The newest CUDA that the driver runs."""
    cuda_toolkit: str
    slurm_packages: tuple[str, ...]
    slurm_daemons: tuple[str, ...]


def parse(output: str) -> Hardware:
    """Turn what `SCRIPT` printed into hardware."""
    found = lines_by_key(output)
    gpus = [line.rsplit(", ", 1) for line in found.get("gpu", []) if ", " in line]
    return Hardware(
        links=(
            *(_link(*line.split("|")) for line in found.get("link", [])),
            *(_infiniband(*line.split("|")) for line in found.get("infiniband", [])),
        ),
        disks=tuple(_disk(*line.split("|")) for line in found.get("disk", [])),
        gpu_products=tuple(name for name, _ in gpus) or tuple(found.get("pci_name", [])),
        pci_gpus=tuple(device.removeprefix("0x") for device in found.get("pci_gpu", [])),
        gpu_memory_mib=int(gpus[0][1]) if gpus and gpus[0][1].isdigit() else None,
        cuda_version=found.get("cuda", [""])[0],
        cuda_toolkit=found.get("cuda_toolkit", [""])[0],
        slurm_packages=tuple(found.get("package", [])),
        slurm_daemons=tuple(found.get("daemon", [])),
    )


def _link(name: str, state: str, rate: str, addresses: str) -> Link:
    return Link(name, state == "UP", int(rate) if rate.isdigit() else None, tuple(addresses.split()))


def _infiniband(name: str, state: str, rate: str) -> Link:
    gbit = re.match(r"([0-9.]+) Gb", rate)
    return Link(name, "ACTIVE" in state, int(float(gbit[1]) * 1000) if gbit else None, is_infiniband=True)


def _disk(name: str, sectors: str, rotating: str) -> Disk:
    return Disk(name, int(sectors) * _SECTOR_BYTES, rotating == "1")
