"""Clusters made of facts: what the steps see, without any machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from corral.deploy.cluster import Cluster, Secrets, join
from corral.deploy.facts import Facts
from corral.deploy.nvidia import Gpu
from corral.spec.load import load_cluster, parse_cluster

EXAMPLES = Path(__file__).parents[3] / "examples"
SECRETS = Secrets(munge_key=b"munge-secret" * 8, jwt_key=b"jwt-secret" * 4)


def facts(
    *,
    gpus: Mapping[str, int] | None = None,
    slurm: tuple[int, int] | None = (24, 11),
    memory_gib: int = 64,
    cpus: int = 16,
    manager: str = "systemd",
    cgroup: str = "v2",
) -> Facts:
    kinds = [kind for kind, count in (gpus or {}).items() for _ in range(count)]
    return Facts(
        os="debian",
        os_version="13",
        os_name="Debian GNU/Linux 13 (trixie)",
        service_manager="systemd" if manager == "systemd" else "supervisord",
        memory_bytes=memory_gib << 30,
        sockets=1,
        cores_per_socket=cpus // 2,
        threads_per_core=2,
        cgroup="v1" if cgroup == "v1" else "v2" if cgroup == "v2" else "none",
        cgroup_mount="/sys/fs/cgroup",
        slurm_version=slurm,
        gpus=tuple(Gpu(kind, (f"/dev/nvidia{index}",)) for index, kind in enumerate(kinds)),
        gpus_are_simulated=False,
        nvidia_gpus_on_pci=len(kinds),
        nvidia_driver="580.95" if kinds else "",
    )


def cluster_of(text_or_example: str, found: Mapping[str, Facts]) -> Cluster:
    """A cluster from YAML text or an example's name, with the given facts."""
    if "\n" in text_or_example:
        spec = parse_cluster(text_or_example, "cluster.yaml")
    else:
        spec = load_cluster(EXAMPLES / text_or_example)
    addresses = {
        name: machine.address or f"10.77.0.{10 + i}" for i, (name, machine) in enumerate(spec.machines.items())
    }
    return join(spec, addresses, found, SECRETS)


THREE = """
name: lab
machines:
  node0: {address: 192.0.2.10}
  node1: {address: 192.0.2.11}
  node2: {address: 192.0.2.12}
"""
