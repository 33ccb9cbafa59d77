"""Which nodes a waiting job fits on: ever, with what is in service, and right now."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from corral.jobs.words import amount, size
from corral.slurm.shown import ShownJob, ShownNode


@dataclass(frozen=True, slots=True)
class Need:
    """What a job wants on each of its nodes."""

    nodes: int
    cpus: int
    memory_mib: int
    gpus: int
    gpu_type: str

    @property
    def text(self) -> str:
        """`2 nodes with 1 GPU, 4 CPUs and 8.0 GiB each`."""
        gpus = amount(self.gpus, f"{self.gpu_type} GPU".strip())
        parts = [*([gpus] if self.gpus else []), amount(self.cpus, "CPU")]
        memory = f" and {size(self.memory_mib)}" if self.memory_mib else ""
        what = f"{', '.join(parts)}{memory}"
        return f"{amount(self.nodes, 'node')} with {what}{' each' if self.nodes > 1 else ''}"


@dataclass(frozen=True, slots=True)
class Room:
    """What a node has, or has left."""

    cpus: int
    memory_mib: int
    gpus: int

    def holds(self, need: Need) -> bool:
        return self.cpus >= need.cpus and self.memory_mib >= need.memory_mib and self.gpus >= need.gpus

    @property
    def text(self) -> str:
        gpus = f"{amount(self.gpus, 'GPU')}, " if self.gpus else ""
        return f"{gpus}{amount(self.cpus, 'CPU')} and {size(self.memory_mib)}"


def need_of(job: ShownJob) -> Need:
    """Per node, rounded up where a job asks for sums."""
    nodes = max(1, job.wants.nodes)
    kinds = [kind for kind in job.gpus_per_node if kind]
    return Need(
        nodes=nodes,
        cpus=-(-job.wants.cpus // nodes),
        memory_mib=-(-job.wants.memory_mib // nodes),
        gpus=sum(job.gpus_per_node.values()) or -(-job.wants.gpus // nodes),
        gpu_type=kinds[0] if kinds else job.wants.gpu_type,
    )


def whole(node: ShownNode, need: Need) -> Room:
    """All that the node has; of GPUs those of the type that is needed."""
    return Room(node.has.cpus, node.has.memory_mib, _gpus(node, need))


def left(node: ShownNode, need: Need) -> Room:
    """What nobody uses now."""
    return Room(
        node.has.cpus - node.taken.cpus,
        node.has.memory_mib - node.taken.memory_mib,
        min(_gpus(node, need), node.has.gpus - node.taken.gpus),
    )


def members(job: ShownJob, nodes: Sequence[ShownNode], partitions: Sequence[str]) -> list[ShownNode]:
    """Nodes of the partitions that the job may run on, by its other wishes."""
    return [
        node
        for node in nodes
        if set(node.partitions) & set(partitions)
        and (not job.wanted_nodes or node.name in job.wanted_nodes)
        and _has_features(node, job.features)
    ]


def _has_features(node: ShownNode, wanted: str) -> bool:
    # Alternatives and counts are Slurm's to judge.
    if not wanted or not re.fullmatch(r"[\w.,&-]+", wanted):
        return True
    return set(re.split("[,&]", wanted)) <= node.features


def _gpus(node: ShownNode, need: Need) -> int:
    return node.gpus.get(need.gpu_type, 0) if need.gpu_type else max(node.has.gpus, sum(node.gpus.values()))
