"""Everything that tells why a job waits or ended, asked for in one round trip."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from corral.errors import NoSuchJob
from corral.jobs.desk import Desk
from corral.jobs.find import Found
from corral.jobs.outcome import Unit
from corral.slurm.accounting import Run, parse_runs, runs_script
from corral.slurm.listing import JobRow, parse_queue, queue_script
from corral.slurm.shown import (
    EPOCH_TIMES,
    ShownJob,
    ShownNode,
    ShownPartition,
    parse_jobs,
    parse_nodes,
    parse_partitions,
)

_PART = "\x1e"
_LOG_LINES = 15
_NEXT = f"printf '{_PART}'"

# A rank's verdict is read where its files are; on the cluster's machines Corral's own code is there to read it.
_RANKS = """
[ ! -d {unit}/ranks ] || PYTHONPATH=/opt/corral/lib python3 -c '
import json, pathlib, sys
from corral.inside.verdict import failed_rank
found = failed_rank(pathlib.Path(sys.argv[1]))
print(json.dumps([found.rank, found.code, found.words]) if found else "")' {unit} 2>/dev/null
"""
_NAMES = """
printf '%s' "$runs" | sed -n 's/.*CANCELLED by \\([0-9]*\\).*/\\1/p' | sort -u | while read -r id; do
  echo "$id $(getent passwd "$id" | cut -d: -f1)"
done
"""
_LIMITS = """
case $job in
*" Reason=Assoc"*) sacctmgr -nP show assoc where user={user} format=account,grptres,grpjobs,maxjobs,maxtres ;;
*" Reason=QOS"*) sacctmgr -nP show qos format=name,maxtrespu,maxjobspu,grptres,grpjobs ;;
esac
"""


@dataclass(frozen=True, slots=True)
class RankFailure:
    """The rank of a distributed job that failed first."""

    rank: int
    code: int
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of one job."""

    now: int
    label: str
    job: ShownJob | None
    """As the controller knows it; None where it has forgotten."""
    runs: tuple[Run, ...] = ()
    tasks: Mapping[str, int] = field(default_factory=dict)
    """The states of its array's tasks."""
    nodes: tuple[ShownNode, ...] = ()
    partitions: Mapping[str, ShownPartition] = field(default_factory=dict)
    queue: tuple[JobRow, ...] = ()
    limits: tuple[tuple[str, ...], ...] = ()
    """Rows of what an account or a QOS may use, where one of them is the reason."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Users by their numbers."""
    log: tuple[str, ...] = ()
    """The last lines of its output."""
    rank: RankFailure | None = None
    recorded_code: int | None = None
    """What the command ended with, by the job's own record."""


async def gather(desk: Desk, found: Found) -> Facts:
    """Ask the cluster; of an array about the task that says most."""
    label, tasks, script = question(found)
    facts = parse_facts(await desk.must(script, timeout_s=120), label, tasks)
    if facts.job is None and not facts.runs and facts.recorded_code is None:
        raise NoSuchJob(f"Slurm has forgotten job {label}, and it left no record of how it ended")
    return facts


def question(found: Found) -> tuple[str, dict[str, int], str]:
    """Which job or task is asked about, the states of its array's tasks, and the script that asks."""
    label = _telling(found)
    return label, _counts(found), _script(found, label)


def parse_facts(said: str, label: str, tasks: Mapping[str, int]) -> Facts:
    """The facts from what the cluster printed."""
    now, job, nodes, partitions, queue, limits, runs, names, log, rank, ended = said.split(_PART)
    jobs = [one for one in parse_jobs(job) if one.label == label or "_" not in label] or parse_jobs(job)
    return Facts(
        now=int(now),
        label=label,
        job=jobs[-1] if jobs else None,
        runs=tuple(parse_runs(runs, label)),
        tasks=tasks,
        nodes=tuple(parse_nodes(nodes)),
        partitions=parse_partitions(partitions),
        queue=tuple(parse_queue(queue)),
        limits=tuple(tuple(line.split("|")) for line in limits.split("\n") if line),
        names=dict(line.split(" ") for line in names.split("\n") if " " in line),
        log=tuple(log.splitlines()),
        rank=RankFailure(*json.loads(rank)) if rank.strip() else None,
        recorded_code=int(ended) if ended.strip().isdigit() else None,
    )


def _telling(found: Found) -> str:
    """Of an array a task that waits, else one that runs, else one that failed."""
    if not found.array or not found.tasks:
        return found.label
    order = ("PENDING", "RUNNING", "COMPLETING", "COMPLETED", "CANCELLED")
    ranked = sorted(found.tasks, key=lambda task: order.index(task.state) if task.state in order else 2.5)
    array, _, tasks = ranked[0].label.partition("_")
    return f"{array}_{tasks.strip('[').split('-')[0].split(',')[0].split('%')[0].rstrip(']')}"


def _counts(found: Found) -> dict[str, int]:
    counts: dict[str, int] = {}
    for task in found.tasks if found.array else ():
        counts[task.state] = counts.get(task.state, 0) + task.count
    return counts


def _script(found: Found, label: str) -> str:
    trial = int(label.partition("_")[2]) if "_" in label else None
    unit = Unit(found.folder, trial) if found.folder else None
    path = shlex.quote(unit.path) if unit else ""
    parts = [
        "date +%s",
        f"job=$(scontrol -o show job {label} 2>/dev/null | head -n 20); printf '%s' \"$job\"",
        _while_waiting("scontrol -o show nodes"),
        _while_waiting("scontrol -o show partitions"),
        _while_waiting(queue_script(states=("PENDING", "RUNNING", "COMPLETING", "CONFIGURING"), expand=False)),
        _LIMITS.format(user=shlex.quote(found.user)),
        f"runs=$({runs_script(label)} 2>/dev/null); printf '%s' \"$runs\"",
        _NAMES,
        f"[ ! -r {shlex.quote(unit.log)} ] || tail -n {_LOG_LINES} {shlex.quote(unit.log)}" if unit else _FOREIGN_LOG,
        _RANKS.format(unit=path) if unit else "",
        f"cat {path}/ended 2>/dev/null" if unit else "",
    ]
    return f"{EPOCH_TIMES}\n" + f"\n{_NEXT}\n".join(parts) + "\ntrue"


def _while_waiting(command: str) -> str:
    return f'case $job in *" JobState=PENDING "*) {command} ;; esac'


_FOREIGN_LOG = f"""
log=$(printf '%s' "$job" | sed -n 's/.* StdOut=\\([^ ]*\\).*/\\1/p' | head -n 1)
[ ! -r "$log" ] || tail -n {_LOG_LINES} "$log"
"""
