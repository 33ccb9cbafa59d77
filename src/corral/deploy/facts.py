"""What a machine is: read once per run, in one round trip, without anything but a POSIX shell on it."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any, Literal

from corral.deploy.releases import Release, release_of

ServiceManager = Literal["systemd", "supervisord"]
CgroupKind = Literal["v1", "v2", "none"]

SCRIPT = r"""
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
fi
echo "cgroup=$cgroup"
echo "slurm=$(dpkg-query -W -f '${Version}' slurm-client 2>/dev/null)"
if [ -r /etc/corral/simulated-gpus ]; then
  sed 's/^/simulated_gpu=/' /etc/corral/simulated-gpus
elif command -v nvidia-smi >/dev/null 2>&1; then
  nvidia-smi --query-gpu=index,name --format=csv,noheader 2>/dev/null | sed -n 's/^\([0-9]*\), /gpu=\1 /p'
fi
"""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU as Slurm will know it."""

    type: str
    device: str


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

    @property
    def cpus(self) -> int:
        return self.sockets * self.cores_per_socket * self.threads_per_core


def parse(output: str) -> Facts:
    """Turn what `SCRIPT` printed into facts."""
    single: dict[str, str] = {}
    cpus: list[tuple[str, ...]] = []
    real: list[Gpu] = []
    simulated: list[Gpu] = []
    for line in output.splitlines():
        key, _, value = line.partition("=")
        if key == "cpu":
            cpus.append(tuple(value.split(",")))
        elif key == "gpu":
            index, _, product = value.partition(" ")
            real.append(Gpu(gpu_type(product), f"/dev/nvidia{index}"))
        elif key == "simulated_gpu":
            kind, _, device = value.partition(" ")
            simulated.append(Gpu(kind, device))
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
        gpus=tuple(simulated or real),
        gpus_are_simulated=bool(simulated),
    )


def to_json(facts: Facts) -> dict[str, Any]:
    return asdict(facts)


def from_json(data: dict[str, Any]) -> Facts:
    version = data["slurm_version"]
    return Facts(
        **{
            **data,
            "gpus": tuple(Gpu(**gpu) for gpu in data["gpus"]),
            "slurm_version": None if version is None else (version[0], version[1]),
        }
    )


def gpu_type(product: str) -> str:
    """Slurm's type for a product name: `NVIDIA GeForce RTX 5090` → `rtx5090`, `NVIDIA H100 80GB HBM3` → `h100`."""
    words = re.sub(r"\b(nvidia|geforce|tesla|quadro|graphics|generation)\b", " ", product.lower()).split()
    if not words:
        return "gpu"
    if words[0] not in ("rtx", "gtx"):
        return words[0].split("-")[0]
    model = "".join(word for word in words[1:] if word.isalnum() and not word.endswith("gb"))
    return model if model.startswith("a") else words[0] + model
