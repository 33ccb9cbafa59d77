"""What `scontrol -o show` tells of jobs, nodes and partitions, one line each.

Values may hold blanks and people choose some of them, so a line is cut where ` Key=` of a known shape begins. Run with
`SLURM_TIME_FORMAT=%s`: all times are then seconds since 1970, whatever the machine's time zone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from corral.slurm.durations import parse_duration_s
from corral.slurm.hostlist import expand_hosts
from corral.slurm.text import parse_gres
from corral.slurm.tres import Tres, parse_memory_mib, parse_tres

EPOCH_TIMES = "export SLURM_TIME_FORMAT=%s"

_KEY = re.compile(r"(?:^| +)([A-Z][A-Za-z]*(?:[:/][A-Za-z:]+)?)=")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownJob:
    """One job, or the tasks of an array that wait together. Times are 0 where there is none."""

    id: int
    array_id: int
    array_tasks: str
    """`3` of one task, `0-9%4` of several that wait."""
    name: str
    user: str
    account: str
    qos: str
    state: str
    reason: str
    dependency: str
    priority: int
    restarts: int
    exit_code: int
    signal: int
    submitted: int
    started: int
    """Of a waiting job: when Slurm expects it to start."""
    ended: int
    """Of a running job: when its time is over; 0 without a limit."""
    time_limit_s: int | None
    partitions: tuple[str, ...]
    wanted_nodes: tuple[str, ...]
    nodes: tuple[str, ...]
    wants: Tres
    """On all nodes together."""
    gpus_per_node: dict[str, int]
    features: str
    folder: str
    output: str

    @property
    def label(self) -> str:
        """What people call it: `12`, `12_3`."""
        return f"{self.array_id}_{self.array_tasks}" if self.array_tasks.isdigit() else str(self.array_id or self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownNode:
    """One node: what it has, what of that is taken, and whether it takes jobs."""

    name: str
    state: str
    flags: frozenset[str]
    has: Tres
    taken: Tres
    gpus: dict[str, int]
    features: frozenset[str]
    partitions: tuple[str, ...]
    reason: str

    @property
    def in_service(self) -> bool:
        return self.state not in ("DOWN", "ERROR", "UNKNOWN", "FUTURE") and not self.flags & {
            "DRAIN", "FAIL", "INVALID_REG", "NOT_RESPONDING", "MAINTENANCE"
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPartition:
    """One partition."""

    name: str
    up: bool
    time_limit_s: int | None


def parse_jobs(listing: str) -> list[ShownJob]:
    """Jobs from `scontrol -o show job`."""
    return [_job(line) for line in listing.splitlines() if line.startswith("JobId=")]


def parse_nodes(listing: str) -> list[ShownNode]:
    """Nodes from `scontrol -o show nodes`."""
    return [_node(_fields(line)) for line in listing.splitlines() if line.startswith("NodeName=")]


def parse_partitions(listing: str) -> dict[str, ShownPartition]:
    """Partitions by name, from `scontrol -o show partitions`."""
    shown = [_fields(line) for line in listing.splitlines() if line.startswith("PartitionName=")]
    return {
        one["PartitionName"]: ShownPartition(
            name=one["PartitionName"], up=one["State"] == "UP", time_limit_s=parse_duration_s(one["MaxTime"])
        )
        for one in shown
    }


def _fields(line: str) -> dict[str, str]:
    """Values by key; the first of a kind counts, since what people choose comes after what Slurm says."""
    cuts = list(_KEY.finditer(line))
    ends = [cut.start() for cut in cuts[1:]] + [len(line)]
    found: dict[str, str] = {}
    for cut, end in zip(cuts, ends, strict=True):
        found.setdefault(cut[1], line[cut.end() : end].rstrip())
    return found


def _job(line: str) -> ShownJob:
    # The name is the one free text that stands before what matters.
    before, _, rest = line.partition(" JobName=")
    name, _, rest = rest.partition(" UserId=")
    fields = _fields(f"{before} UserId={rest}")
    code, _, signal = fields.get("ExitCode", "0:0").partition(":")
    return ShownJob(
        id=int(fields["JobId"]),
        array_id=int(fields.get("ArrayJobId", 0)),
        array_tasks=fields.get("ArrayTaskId", ""),
        name=name,
        user=fields["UserId"].partition("(")[0],
        account=_text(fields, "Account"),
        qos=_text(fields, "QOS"),
        state=fields["JobState"],
        reason=_text(fields, "Reason"),
        dependency=_text(fields, "Dependency"),
        priority=int(fields["Priority"]),
        restarts=int(fields.get("Restarts", 0)),
        exit_code=int(code),
        signal=int(signal or 0),
        submitted=_time(fields, "SubmitTime"),
        started=_time(fields, "StartTime"),
        ended=_time(fields, "EndTime"),
        time_limit_s=parse_duration_s(fields["TimeLimit"]),
        partitions=tuple(fields["Partition"].split(",")),
        wanted_nodes=expand_hosts(fields.get("ReqNodeList", "")),
        nodes=expand_hosts(fields.get("NodeList", "")),
        # 22.05 has only what it calls TRES.
        wants=parse_tres(fields.get("ReqTRES", fields.get("TRES", ""))),
        gpus_per_node=parse_gres(fields.get("TresPerNode", "")),
        features=_text(fields, "Features"),
        folder=_text(fields, "WorkDir"),
        output=_text(fields, "StdOut"),
    )


def _node(fields: dict[str, str]) -> ShownNode:
    state, *flags = fields["State"].split("+")
    silent = {"NOT_RESPONDING"} if state.endswith("*") else set()
    taken = parse_tres(fields.get("AllocTRES", ""))
    return ShownNode(
        name=fields["NodeName"],
        state=state.rstrip("*"),
        flags=frozenset({*flags, *silent}),
        has=Tres(
            cpus=int(fields.get("CPUEfctv", fields["CPUTot"])),
            memory_mib=int(fields["RealMemory"]),
            nodes=1,
            gpus=parse_tres(fields.get("CfgTRES", "")).gpus,
        ),
        taken=Tres(int(fields["CPUAlloc"]), parse_memory_mib(fields["AllocMem"]), 1, taken.gpus),
        gpus=parse_gres(fields.get("Gres", "")),
        features=frozenset(_text(fields, "ActiveFeatures").split(",")),
        partitions=tuple(_text(fields, "Partitions").split(",")),
        reason=re.sub(r" \[[^\]]*\]$", "", _text(fields, "Reason")),
    )


def _text(fields: dict[str, str], key: str) -> str:
    value = fields.get(key, "")
    return "" if value in ("(null)", "None", "N/A") else value


def _time(fields: dict[str, str], key: str) -> int:
    value = fields.get(key, "")
    return int(value) if value.isdigit() else 0
