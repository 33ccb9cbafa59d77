"""What would make a waiting job start sooner, or at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corral.jobs.why.facts import Facts
from corral.jobs.why.fit import Need, left, members, whole
from corral.jobs.why.reasons import Reason
from corral.jobs.words import amount, clock, size
from corral.slurm.shown import ShownJob, ShownNode

_SHORT_S = 15 * 60


def sooner(facts: Facts, job: ShownJob, reason: Reason, need: Need, ever: Sequence[ShownNode]) -> Iterator[str]:
    """One sentence per way, the surest first."""
    array = str(job.array_id or job.id)
    # Whoever asked about one task means that task.
    label = array if facts.tasks else facts.label
    if reason.kind == "held":
        yield "An operator can: scontrol release " + label if "Admin" in job.reason else f"corral release {label}"
    elif job.reason == "DependencyNeverSatisfied":
        yield f"corral cancel {label}, or, if it should run anyway: scontrol update jobid={label} dependency="
    elif "TimeLimit" in job.reason:
        yield from _time_limit(facts, job, label)
    elif len(ever) < need.nodes or reason.kind == "never":
        yield from _impossible(facts, job, need, label)
    elif job.reason == "JobArrayTaskLimit":
        yield f"Let more of them run at once: scontrol update jobid={array} arraytaskthrottle=N"
    elif reason.kind in ("room", "order", "nodes"):
        yield from _out_of_service(ever)
        yield from _smaller(facts, job, need)
        yield from _elsewhere(facts, job, need)
        yield from _shorter(job, reason, label)
    elif reason.kind == "limit":
        yield "It starts by itself when jobs under the same limit end; cancel one of them to make room."


def _time_limit(facts: Facts, job: ShownJob, label: str) -> Iterator[str]:
    allowed = [facts.partitions[name].time_limit_s for name in job.partitions if name in facts.partitions]
    longest = max((limit for limit in allowed if limit is not None), default=None)
    if longest is not None and "Partition" in job.reason:
        yield f"Shorten it where it waits: scontrol update jobid={label} timelimit={clock(longest)}"
    for other in facts.partitions.values():
        long_enough = other.time_limit_s is None or (job.time_limit_s or 0) <= other.time_limit_s
        if other.name not in job.partitions and other.up and job.time_limit_s is not None and long_enough:
            yield f"Move it to a partition that allows it: scontrol update jobid={label} partition={other.name}"


def _impossible(facts: Facts, job: ShownJob, need: Need, label: str) -> Iterator[str]:
    there = [whole(node, need) for node in members(job, facts.nodes, job.partitions)]
    where = " and ".join(job.partitions)
    if there:
        biggest = max(there, key=lambda room: (room.gpus, room.cpus, room.memory_mib))
        yield f"The biggest of the {amount(len(there), 'node')} of {where} has {biggest.text}."
    for other in facts.partitions.values():
        fitting = [node for node in members(job, facts.nodes, [other.name]) if whole(node, need).holds(need)]
        if other.name not in job.partitions and len(fitting) >= need.nodes:
            yield f"The partition {other.name} has nodes that fit: scontrol update jobid={label} partition={other.name}"
    yield f"corral cancel {label}, then ask for less"


def _out_of_service(ever: Sequence[ShownNode]) -> Iterator[str]:
    for node in ever:
        if not node.in_service:
            state = "drained" if "DRAIN" in node.flags else node.state.lower()
            out = f"{state}: {node.reason}" if node.reason else state
            yield f"{node.name} would fit but is out of service ({out}). Try: corral doctor {node.name}"


def _smaller(facts: Facts, job: ShownJob, need: Need) -> Iterator[str]:
    """What is free right now, in the words of the options that would ask for it."""
    serving = [node for node in members(job, facts.nodes, job.partitions) if node.in_service]
    rooms = {node.name: left(node, need) for node in serving}
    fitting = [name for name, room in rooms.items() if room.holds(need)]
    if need.nodes > 1 and fitting and len(fitting) < need.nodes:
        have = "has" if len(fitting) == 1 else "have"
        yield f"{', '.join(fitting)} {have} room now: --nodes {len(fitting)} could start"
        return
    if fitting:
        return
    usable = {name: room for name, room in rooms.items() if room.cpus > 0 and room.memory_mib > 0}
    most = max((room.gpus for room in usable.values()), default=0)
    if need.gpus > 1 and 0 < most < need.gpus:
        yield f"{amount(most, 'GPU')} on one node {'is' if most == 1 else 'are'} free now: --gpus {most} could start"
    for name, room in usable.items():
        if room.gpus >= need.gpus:
            less = [
                *([f"--cpus {room.cpus}"] if room.cpus < need.cpus else []),
                *([f"--mem {room.memory_mib}M"] if room.memory_mib < need.memory_mib else []),
            ]
            has = amount(room.cpus, "CPU") + f" and {size(room.memory_mib)}"
            gpus = f"{amount(need.gpus, 'free GPU')}, " if need.gpus else ""
            yield f"{name} has {gpus}{has} left: {' '.join(less)} could start there"
            return


def _elsewhere(facts: Facts, job: ShownJob, need: Need) -> Iterator[str]:
    own = {node.name for node in members(job, facts.nodes, job.partitions)}
    for other in facts.partitions.values():
        if other.name in job.partitions or not other.up:
            continue
        if other.time_limit_s is not None and (job.time_limit_s is None or job.time_limit_s > other.time_limit_s):
            continue
        free = [
            node
            for node in members(job, facts.nodes, [other.name])
            if node.name not in own and node.in_service and left(node, need).holds(need)
        ]
        if len(free) >= need.nodes:
            yield f"The partition {other.name} has room now: --partition {other.name}"


def _shorter(job: ShownJob, reason: Reason, label: str) -> Iterator[str]:
    # Slurm fits short jobs in before those of higher priority, where these do not start later for it.
    if reason.kind == "order" and (job.time_limit_s is None or job.time_limit_s > _SHORT_S):
        has = "none" if job.time_limit_s is None else clock(job.time_limit_s)
        yield (
            f"A shorter time limit (it has {has}) lets Slurm run it in a gap before the others: "
            f"scontrol update jobid={label} timelimit=MINUTES"
        )
