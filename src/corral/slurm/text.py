"""Slurm's text listings of nodes and partitions; those of jobs are in `listing`.

Fields are separated by a character that cannot occur in names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FIELD = "\x1f"
_GRES = re.compile(r"gpu(?::(?P<type>[^:(,]+))?:(?P<count>\d+)")
_DETAIL = re.compile(r"(?:^| )(NodeName|State|RealMemory|CfgTRES|Version)=(\S*)")
_SIGNED = re.compile(r"(?P<text>.*) \[(?P<by>[^@\]]+)@(?P<since>[^\]]+)\]\s*(?:(?:Comment|Extra)=.*)?")

NODES_SCRIPT = f"sinfo -h -N -o '%N{_FIELD}%T{_FIELD}%c{_FIELD}%C{_FIELD}%m{_FIELD}%G{_FIELD}%E{_FIELD}%u{_FIELD}%R'"
GPUS_IN_USE_SCRIPT = "scontrol -o show nodes | sed -n 's/^NodeName=\\([^ ]*\\).*AllocTRES=\\([^ ]*\\).*/\\1 \\2/p'"
PARTITIONS_SCRIPT = f"sinfo -h -o '%R{_FIELD}%a{_FIELD}%l{_FIELD}%D{_FIELD}%P'"
DETAILS_SCRIPT = "timeout 15 scontrol -o show nodes"


@dataclass(frozen=True, slots=True)
class NodeState:
    """One node as the controller sees it."""

    name: str
    state: str
    cpus: int
    cpus_in_use: int
    memory_mib: int
    gpus: dict[str, int]
    gpus_in_use: int
    reason: str
    reason_by: str
    partitions: tuple[str, ...]

    @property
    def healthy(self) -> bool:
        """Able to run jobs: a trailing `*` means that the node does not respond."""
        return self.state in ("idle", "mixed", "allocated", "completing", "planned", "reserved")


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a node takes no jobs, and who said so when."""

    text: str
    by: str
    since: str


@dataclass(frozen=True, slots=True)
class NodeDetails:
    """One node as the controller knows it: what was declared, what it reported, and why it is out of service."""

    name: str
    state: str
    flags: frozenset[str]
    memory_mib: int
    gpus: int
    """As declared: its Gres would shrink to what it reported."""
    version: str
    reason: Reason | None

    @property
    def out_of_service(self) -> bool:
        """Takes no new jobs, whether it still runs some or not."""
        return self.state in ("DOWN", "ERROR", "UNKNOWN") or bool(
            self.flags & {"DRAIN", "FAIL", "INVALID_REG", "NOT_RESPONDING"}
        )


@dataclass(frozen=True, slots=True)
class PartitionState:
    """One partition."""

    name: str
    state: str
    max_time: str
    nodes: int
    default: bool


def parse_gres(text: str) -> dict[str, int]:
    """GPUs by type: `gpu:rtx5090:1(S:0),gpu:a100:2` → {'rtx5090': 1, 'a100': 2}; untyped ones are type ''."""
    found: dict[str, int] = {}
    for match in _GRES.finditer(text):
        kind = match["type"] or ""
        found[kind] = found.get(kind, 0) + int(match["count"])
    return found


def parse_nodes(listing: str, in_use: str) -> list[NodeState]:
    """Nodes from `NODES_SCRIPT`, which has a line per node and partition, and `GPUS_IN_USE_SCRIPT`."""
    used = {}
    for line in in_use.splitlines():
        name, _, tres = line.partition(" ")
        used[name] = _gpus_of(tres)
    nodes: dict[str, NodeState] = {}
    for line in listing.splitlines():
        name, state, cpus, cpu_use, memory, gres, reason, by, partition = line.split(_FIELD)
        partitions = (*nodes[name].partitions, partition) if name in nodes else (partition,)
        nodes[name] = NodeState(
            name=name,
            state=state,
            cpus=int(cpus.rstrip("+")),
            cpus_in_use=int(cpu_use.split("/")[0]),
            memory_mib=int(memory.rstrip("+")),
            gpus=parse_gres(gres),
            gpus_in_use=used.get(name, 0),
            reason="" if reason == "none" else reason,
            reason_by="" if reason == "none" else by,
            partitions=partitions,
        )
    return list(nodes.values())


def parse_node_details(listing: str) -> dict[str, NodeDetails]:
    """Nodes by name, from `DETAILS_SCRIPT`: one line of KEY=VALUE each, the reason with its author at the end."""
    found = {}
    for line in listing.splitlines():
        # The reason is free text, and may look like a field.
        facts, _, reason = line.partition(" Reason=")
        fields = {match[1]: match[2] for match in _DETAIL.finditer(facts)}
        state, *flags = fields["State"].rstrip("*").split("+")
        found[fields["NodeName"]] = NodeDetails(
            name=fields["NodeName"],
            state=state,
            flags=frozenset(flags),
            memory_mib=int(fields["RealMemory"]),
            gpus=_gpus_of(fields.get("CfgTRES", "")),
            version=fields.get("Version", ""),
            reason=_reason(reason.strip()),
        )
    return found


def _gpus_of(tres: str) -> int:
    match = re.search(r"gres/gpu=(\d+)", tres)
    return int(match[1]) if match else 0


def _reason(text: str) -> Reason | None:
    match = _SIGNED.fullmatch(text)
    if match is None:
        return Reason(text, "", "") if text else None
    return Reason(match["text"], match["by"], match["since"])


def parse_partitions(listing: str) -> list[PartitionState]:
    """Partitions from `PARTITIONS_SCRIPT`, which marks the default one with `*`."""
    partitions = []
    for line in listing.splitlines():
        name, state, limit, nodes, marked = line.split(_FIELD)
        partitions.append(PartitionState(name, state, limit, int(nodes), marked.endswith("*")))
    return partitions
