"""What a machine is: read once per run, in one round trip, without anything but a POSIX shell on it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from corral.deploy import nvidia
from corral.deploy.nvidia import Gpu
from corral.deploy.releases import Release, release_of

ServiceManager = Literal["systemd", "supervisord"]
CgroupKind = Literal["v1", "v2", "none"]

SCRIPT = (
    r"""
. /etc/os-release; echo "os=$ID"; echo "os_version=$VERSION_ID"; echo "os_name=$PRETTY_NAME"
if [ -d /run/systemd/system ]; then echo manager=systemd; else echo manager=supervisord; fi
echo "memory_kib=$(awk '/^MemTotal:/ {print $2}' /proc/meminfo)"
lscpu -p=SOCKET,CORE,CPU | sed -n 's/^\([0-9]\)/cpu=\1/p'
cgroup="none /"
for mount in /cgroup-v1 /sys/fs/cgroup; do
  [ -d $mount/devices ] && [ -d $mount/memory ] && [ -d $mount/cpuset ] && cgroup="v1 $mount" && break
done
if [ "$cgroup" = "none /" ] && [ -r /sys/fs/cgroup/cgroup.controllers ]; then
  case " $(cat /sys/fs/cgroup/cgroup.controllers) " in
    *" cpuset "*" memory "*) cgroup="v2 /sys/fs/cgroup";;
  esac
  # Without systemd Slurm hands the controllers down itself, which only works from the real root.
  [ -d /run/systemd/system ] || [ ! -e /sys/fs/cgroup/cgroup.type ] || cgroup="none /"
  [ -w /sys/fs/cgroup/cgroup.subtree_control ] || cgroup="none /"
fi
echo "cgroup=$cgroup"
echo "slurm=$(dpkg-query -W -f '${Version}' slurm-client 2>/dev/null)"
[ ! -r /etc/corral/simulated-gpus ] || sed 's/^/simulated_gpu=/' /etc/corral/simulated-gpus
"""
    + nvidia.SCRIPT
)


@dataclass(frozen=True, slots=True)
class Facts:
    """One machine as it was found."""

    os: str
    os_version: str
    os_name: str
    service_manager: ServiceManager
    memory_bytes: int
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    cgroup: CgroupKind
    cgroup_mount: str
    slurm_version: Release | None
    gpus: tuple[Gpu, ...]
    gpus_are_simulated: bool
    nvidia_gpus_on_pci: int
    """How many there are, with or without a driver."""
    nvidia_driver: str
    """The loaded driver's version, or nothing."""

    @property
    def cpus(self) -> int:
        return self.sockets * self.cores_per_socket * self.threads_per_core


def parse(output: str) -> Facts:
    """Turn what `SCRIPT` printed into facts."""
    single: dict[str, str] = {}
    cpus: list[tuple[int, ...]] = []
    simulated: list[Gpu] = []
    for line in output.splitlines():
        key, _, value = line.partition("=")
        if key == "cpu":
            cpus.append(tuple(int(number) for number in value.split(",")))
        elif key == "simulated_gpu":
            kind, _, device = value.partition(" ")
            simulated.append(Gpu(kind, (device,)))
        else:
            single[key] = value
    sockets = len({cpu[0] for cpu in cpus}) or 1
    cores = len({cpu[:2] for cpu in cpus}) or 1
    kind, _, mount = single["cgroup"].partition(" ")
    return Facts(
        os=single["os"],
        os_version=single.get("os_version", ""),
        os_name=single["os_name"],
        service_manager="systemd" if single["manager"] == "systemd" else "supervisord",
        memory_bytes=int(single["memory_kib"]) * 1024,
        sockets=sockets,
        cores_per_socket=cores // sockets,
        threads_per_core=max(1, len(cpus) // cores),
        cgroup="v1" if kind == "v1" else "v2" if kind == "v2" else "none",
        cgroup_mount=mount,
        slurm_version=release_of(single.get("slurm", "")),
        gpus=tuple(simulated) or nvidia.parse(output, cpus),
        gpus_are_simulated=bool(simulated),
        nvidia_gpus_on_pci=int(single.get("nvidia_pci") or 0),
        nvidia_driver=single.get("nvidia_driver", ""),
    )


def to_json(facts: Facts) -> dict[str, Any]:
    return asdict(facts)


def from_json(data: dict[str, Any]) -> Facts:
    version = data["slurm_version"]
    return Facts(
        **{
            **data,
            "gpus": tuple(Gpu(gpu["type"], tuple(gpu["files"]), gpu["cores"]) for gpu in data["gpus"]),
            "slurm_version": None if version is None else (version[0], version[1]),
        }
    )
