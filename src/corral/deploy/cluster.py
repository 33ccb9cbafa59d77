"""The cluster as the steps see it: what is wanted, joined with what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import ip_address

from corral.deploy.facts import CgroupKind, Facts
from corral.deploy.nvidia import Gpu
from corral.spec.model import ClusterSpec, Role

_MIB = 1 << 20
# Slurm drains a node that reports less memory than declared, and the kernel's figure varies a little.
_DECLARED_SHARE = 0.95
_MEMORY_STEP_MIB = 256


@dataclass(frozen=True, slots=True)
class Secrets:
    """What the machines of one cluster share and nobody else may know."""

    munge_key: bytes = field(repr=False)
    jwt_key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Node:
    """One machine: its place in the file, and its facts."""

    name: str
    address: str
    roles: frozenset[Role]
    facts: Facts
    cpus: int
    memory_mib: int
    gpus: tuple[Gpu, ...]
    features: tuple[str, ...]

    @property
    def gres(self) -> str:
        """Slurm's typed GRES, one entry per type: `gpu:rtx5090:1`."""
        types = dict.fromkeys(gpu.type for gpu in self.gpus)
        return ",".join(f"gpu:{kind}:{sum(gpu.type == kind for gpu in self.gpus)}" for kind in types)


@dataclass(frozen=True)
class Cluster:
    """Everything that a step may depend on."""

    spec: ClusterSpec
    nodes: Mapping[str, Node]
    """Machines with known facts, in the file's order: a machine never reached yet is not here."""
    secrets: Secrets

    @property
    def head(self) -> Node:
        return self.nodes[self.spec.head]

    def address(self, name: str) -> str:
        """Where a machine of the file is reached, whether its facts are known or not."""
        return self.nodes[name].address if name in self.nodes else self.spec.machines[name].address or name

    @property
    def compute_nodes(self) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes.values() if "compute" in node.roles)

    @cached_property
    def confinement(self) -> CgroupKind:
        """The cgroup version on which every compute node can confine its jobs; Slurm takes one for all."""
        kinds = {node.facts.cgroup for node in self.compute_nodes}
        return next(iter(kinds)) if len(kinds) == 1 else "none"

    @property
    def names_resolve(self) -> bool:
        """Whether our /etc/hosts can say where every machine is: it takes addresses only, no other names."""
        return all(_is_address(node.address) for node in self.nodes.values())

    def notices(self) -> list[str]:
        """What people should know about this cluster although nothing failed."""
        notices = []
        if self.confinement == "none" and self.compute_nodes:
            lacking = [node.name for node in self.compute_nodes if node.facts.cgroup == "none"]
            why = f"no cgroup controllers on {', '.join(lacking)}" if lacking else "cgroup v1 and v2 are mixed"
            notices.append(f"jobs are NOT confined to their GPUs, cores and memory: {why}")
        for node in self.nodes.values():
            if node.facts.nvidia_gpus_on_pci and not node.facts.nvidia_driver:
                notices.append(
                    f"{node.name} has {node.facts.nvidia_gpus_on_pci} NVIDIA GPU(s) but no driver is loaded, so Slurm "
                    f"cannot offer them: set `gpu: {{driver: ...}}`, or reboot it if the driver was just installed"
                )
        if any(node.facts.gpus_are_simulated for node in self.nodes.values()):
            notices.append("the GPUs of this cluster are simulated: jobs can be scheduled on them, not computed")
        return notices


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def join(spec: ClusterSpec, addresses: Mapping[str, str], facts: Mapping[str, Facts], secrets: Secrets) -> Cluster:
    """Build the cluster from the file and the facts, the file winning wherever it says something."""
    nodes = {}
    for name, machine in spec.machines.items():
        if name not in facts:
            continue
        found = facts[name]
        gpus = found.gpus
        if machine.gpus is not None:
            gpus = tuple(Gpu(machine.gpus.type, (f"/dev/nvidia{i}",)) for i in range(machine.gpus.count))
        nodes[name] = Node(
            name=name,
            address=addresses[name],
            roles=spec.roles(name),
            facts=found,
            cpus=machine.cpus or found.cpus,
            memory_mib=_declared_memory_mib(spec, machine.memory, found.memory_bytes),
            gpus=gpus,
            features=machine.features,
        )
    return Cluster(spec, nodes, secrets)


def _declared_memory_mib(spec: ClusterSpec, wanted: int | None, found: int) -> int:
    if wanted is not None:
        return wanted // _MIB
    # Local machines all see the memory of the one computer they share.
    share = found / (len(spec.machines) if spec.local else 1) * _DECLARED_SHARE / _MIB
    return max(_MEMORY_STEP_MIB, int(share) // _MEMORY_STEP_MIB * _MEMORY_STEP_MIB)
