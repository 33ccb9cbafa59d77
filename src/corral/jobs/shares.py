"""What a job gets when it does not say: one GPU, and that GPU's fair share of its node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from corral.errors import InputError
from corral.jobs.request import Gpus, Resources
from corral.slurm.text import NodeState, PartitionState


def with_defaults(wanted: Resources, nodes: Sequence[NodeState], partitions: Sequence[PartitionState]) -> Resources:
    """Fill in what was left out, so that the job fits every node that has what it asks for."""
    members = _members(wanted, nodes, partitions)
    gpus = wanted.gpus or Gpus(1 if any(node.gpus for node in members) else 0)
    fitting = [node for node in members if _has(node, gpus) >= gpus.count]
    if len(fitting) < wanted.nodes:
        raise InputError(_too_few(wanted, gpus, members, fitting))
    cpus, memory = wanted.cpus, wanted.memory_mib
    if gpus.count:
        cpus = cpus or max(1, min(node.cpus * gpus.count // _all_gpus(node) for node in fitting))
        memory = memory or min(node.memory_mib * gpus.count // _all_gpus(node) for node in fitting)
    return replace(wanted, gpus=gpus, cpus=cpus or 1, memory_mib=memory)


def _members(
    wanted: Resources, nodes: Sequence[NodeState], partitions: Sequence[PartitionState]
) -> Sequence[NodeState]:
    names = [partition.name for partition in partitions]
    asked = wanted.partition.split(",") if wanted.partition else [p.name for p in partitions if p.default] or names
    for name in asked:
        if name not in names:
            raise InputError(f"there is no partition '{name}'; there are: {', '.join(names)}")
    return [node for node in nodes if set(node.partitions) & set(asked)]


def _has(node: NodeState, gpus: Gpus) -> int:
    return node.gpus.get(gpus.type, 0) if gpus.type else _all_gpus(node)


def _all_gpus(node: NodeState) -> int:
    return sum(node.gpus.values())


def _too_few(wanted: Resources, gpus: Gpus, members: Sequence[NodeState], fitting: Sequence[NodeState]) -> str:
    kinds = sorted({kind for node in members for kind in node.gpus if kind})
    if gpus.type and gpus.type not in kinds:
        return f"no node has GPUs of type '{gpus.type}'; there are: {', '.join(kinds) or 'none'}"
    if not gpus.count:
        return f"{wanted.nodes} nodes were asked for, and there are {len(members)}"
    most = max((_has(node, gpus) for node in members), default=0)
    what = f"{gpus.count} GPUs" if gpus.count > 1 else "a GPU"
    return (
        f"{wanted.nodes} node{'s' if wanted.nodes > 1 else ''} with {what} each were asked for; of {len(members)} "
        f"nodes {len(fitting)} have as many, and the most GPUs that one has is {most}. Try: fewer --gpus (they count "
        "per node) or --nodes"
    )
