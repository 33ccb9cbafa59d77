"""Why a job waits: Slurm's reason, who is before it, what holds its nodes, when it should start."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from corral.jobs.why.explanation import Explanation, at
from corral.jobs.why.facts import Facts
from corral.jobs.why.fit import Need, members, need_of, whole
from corral.jobs.why.reasons import Reason, reason_of
from corral.jobs.why.sooner import sooner
from corral.jobs.words import amount, clock, counted
from corral.slurm.hostlist import expand_hosts
from corral.slurm.listing import JobRow
from corral.slurm.shown import ShownJob

_LINES = 6
# Where a limit is the reason, Slurm's estimate leaves the limit out.
_ESTIMATED = ("room", "order", "nodes", "slurm")
# How long Slurm believes that a job without a time limit runs.
_FOR_EVER_S = 300 * 86400
_DEPENDENCY = re.compile(r"(?P<kind>after\w*):(?P<job>\d+(?:_[\d*]+)?)")
_AFTER = {"afterok": "to end well", "afternotok": "to fail", "afterany": "to end", "after": "to start"}


def explain_waiting(facts: Facts, job: ShownJob) -> Explanation:
    """The whole answer about a job that waits."""
    reason = reason_of(job.reason)
    need = need_of(job)
    ever = [node for node in members(job, facts.nodes, job.partitions) if whole(node, need).holds(need)]
    too_few = len(ever) < need.nodes
    never = reason.kind == "never" or too_few
    words = _words(reason, facts, job, need)
    if too_few and (reason.kind != "never" or job.reason in ("PartitionConfig", "BadConstraints")):
        words = f"{amount(len(ever), 'node')} of {' and '.join(job.partitions)} could hold it, and it wants {need.text}"
    details = [*_array(facts), *_dependencies(facts, job), *_limits(facts, job, reason)]
    expected = _expected(facts, job) if reason.kind in _ESTIMATED and not never else None
    if reason.kind in ("room", "order", "nodes") and not never:
        details += [*_before(facts, job), *_holders(facts, {node.name for node in ever})]
    if reason.kind in _ESTIMATED and not never:
        details.append(_estimate(facts, expected))
    verdict = "will never start as it is" if never else "waits"
    return Explanation(
        job=facts.label,
        name=job.name,
        state=job.state,
        headline=f"job {facts.label} ({job.name}) {verdict}: {words}",
        details=tuple(details),
        suggestions=tuple(sooner(facts, job, reason, need, ever)),
        expected_start=expected,
    )


def _words(reason: Reason, facts: Facts, job: ShownJob, need: Need) -> str:
    start = at(job.started, facts.now) if job.started else "a time to come"
    if job.reason == "BeginTime" and job.restarts:
        start += ", as it was put back into the queue a moment ago"
    waits_for = [match["job"] for match in _DEPENDENCY.finditer(job.dependency)]
    return reason.words.format(
        wants=need.text,
        dependency=" and ".join(f"job {one}" for one in waits_for) or job.dependency,
        start=start,
        partition=",".join(job.partitions),
        nodes=amount(need.nodes, "node"),
        limit="no time limit" if job.time_limit_s is None else f"its time limit of {clock(job.time_limit_s)}",
        qos=job.qos,
        account=job.account,
        user=job.user,
    )


def _array(facts: Facts) -> list[str]:
    return [f"Its array has {counted(facts.tasks)}."] if sum(facts.tasks.values()) > 1 else []


def _dependencies(facts: Facts, job: ShownJob) -> list[str]:
    known = {row.id.partition("_")[0]: row for row in facts.queue}
    found = []
    for match in _DEPENDENCY.finditer(job.dependency):
        row = known.get(match["job"].partition("_")[0])
        kind = _AFTER.get(match["kind"], match["kind"])
        if row is None:
            state = "Slurm's queue no longer has it"
        elif row.state == "PENDING":
            state = f"it waits itself ({reason_of(row.reason).short})"
        else:
            state = f"it runs, {_until(row, facts.now)}"
        found.append(f"It waits for job {match['job']} {kind}: {state}.")
    return found


def _limits(facts: Facts, job: ShownJob, reason: Reason) -> list[str]:
    if reason.kind != "limit":
        return []
    mine = [row for row in facts.queue if row.user == job.user and row.state != "PENDING"][:_LINES]
    name = job.qos if job.reason.startswith("QOS") else job.account
    rows = [[cell for cell in row[1:] if cell] for row in facts.limits if row[0] == name]
    allowed = [", ".join(cells).replace("gres/gpu", "GPUs") for cells in rows if cells]
    said = [f"Allowed to {job.user} in {name}: {'; '.join(allowed)}."] if allowed else []
    said += [_holder(row, expand_hosts(row.nodes), facts.now) for row in mine]
    return said


def _before(facts: Facts, job: ShownJob) -> list[str]:
    """Whose jobs Slurm looks at first for the same nodes; held ones and those that wait for other jobs do not count."""
    others = [
        row
        for row in facts.queue
        if row.state == "PENDING"
        and set(row.partition.split(",")) & set(job.partitions)
        and int(row.id.partition("_")[0]) != (job.array_id or job.id)
        and (row.priority, -int(row.id.partition("_")[0])) > (job.priority, -(job.array_id or job.id))
        and reason_of(row.reason).kind in ("room", "order", "nodes", "slurm")
    ]
    if not others:
        return ["No other waiting job is before it."]
    ids = ", ".join(row.id for row in others[:5]) + (", …" if len(others) > 5 else "")
    people = Counter(row.user for row in others).most_common()
    if len(others) == 1:
        return [f"1 waiting job is before it: {ids} of {others[0].user}."]
    if len(people) == 1:
        return [f"{len(others)} waiting jobs are before it, all of {others[0].user}: {ids}."]
    whose = ", ".join(f"{count} of {user}" for user, count in people[:5])
    more = f" and {amount(len(people) - 5, 'other person', 'other people')}" if len(people) > 5 else ""
    return [f"{len(others)} waiting jobs are before it: {whose}{more} ({ids})."]


def _holders(facts: Facts, names: set[str]) -> list[str]:
    holding = [
        (row, on)
        for row in facts.queue
        if row.state != "PENDING" and (on := [node for node in expand_hosts(row.nodes) if node in names])
    ]
    # Those that end first matter most.
    holding.sort(key=lambda pair: (pair[0].time_limit_s is None, pair[0].ended))
    found = [_holder(row, on, facts.now) for row, on in holding[:_LINES]]
    if len(holding) > _LINES:
        found.append(f"{len(holding) - _LINES} more jobs run on nodes that it could use.")
    return found


def _holder(row: JobRow, on: Sequence[str], now: int) -> str:
    where = ", ".join(on[:4]) + (", …" if len(on) > 4 else "")
    what = f"{amount(row.gpus, 'GPU')} on " if row.gpus else ""
    return f"job {row.id} ({row.name}) of {row.user} holds {what}{where} {_until(row, now)}."


def _until(row: JobRow, now: int) -> str:
    if row.time_limit_s is None or not row.ended:
        return "without a time limit"
    return f"until {at(row.ended, now)} at the latest"


def _expected(facts: Facts, job: ShownJob) -> int | None:
    return job.started if 0 < job.started - facts.now < _FOR_EVER_S else None


def _estimate(facts: Facts, expected: int | None) -> str:
    if expected is not None:
        return f"Slurm expects it to start at {at(expected, facts.now)}, or earlier if others end before their time."
    endless = [row.id for row in facts.queue if row.state == "RUNNING" and row.time_limit_s is None]
    if endless:
        jobs = ", ".join(endless[:4]) + (", …" if len(endless) > 4 else "")
        return f"When it starts cannot be said: {amount(len(endless), 'job')} without a time limit may run on ({jobs})."
    return "Slurm has no estimate yet of when it starts."
