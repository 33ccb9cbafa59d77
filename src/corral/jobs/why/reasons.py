"""Slurm's reasons for letting a job wait, in plain words.

A line per reason that people meet, most telling first. `{…}` are filled in by `waiting.py`: what the job wants, the
partition, and so on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["room", "order", "held", "later", "limit", "never", "nodes", "slurm"]
"""What it comes down to: no room yet; others first; somebody holds it; not yet by its own wish; a limit of what
somebody may use; it cannot start as it is; nodes are out of service; something that Slurm itself must finish."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason: for a list, and in a sentence after `it waits: `."""

    pattern: str
    kind: Kind
    short: str
    words: str


_REASONS = (
    Reason(r"Resources", "room", "for free resources", "it is next, and {wants} must become free"),
    Reason(r"Priority", "order", "others are first", "jobs with a higher priority are before it"),
    Reason(r"None|", "slurm", "just arrived", "Slurm has not looked at it yet"),
    Reason(r"DependencyNeverSatisfied", "never", "for a job that failed", "what it was to follow did not end well"),
    Reason(r"Dependency", "later", "for another job", "it starts after {dependency}"),
    Reason(r"JobHeldUser", "held", "held", "it is held. Whoever owns it can let it go"),
    Reason(r"JobHeldAdmin", "held", "held by an operator", "an operator holds it, and only an operator can let it go"),
    Reason(r"BeginTime", "later", "for its time", "it may not start before {start}"),
    Reason(r"JobArrayTaskLimit", "later", "for its own trials", "as many of its trials run as --at-most allows"),
    Reason(r"PartitionTimeLimit", "never", "time limit too long", "{limit} is more than {partition} allows"),
    Reason(r"PartitionNodeLimit", "never", "too many nodes", "no job of {partition} gets {nodes}"),
    Reason(r"PartitionDown|PartitionInactive", "nodes", "partition is down", "the partition {partition} runs no jobs"),
    Reason(r"ReqNodeNotAvail.*", "nodes", "nodes not available", "nodes that it needs are out of service or reserved"),
    Reason(
        r"Nodes_required_for_job_are.*|NodeDown|Nodes? .*not available",
        "nodes", "nodes not available", "nodes that it needs are out of service, or kept for jobs of higher priority",
    ),
    Reason(r"PartitionConfig", "never", "does not fit", "the partition {partition} does not run what it asks for"),
    Reason(r"BadConstraints", "never", "no node fits", "no node has what it asks for: {wants}"),
    Reason(r"Reservation", "later", "for its reservation", "the reservation that it belongs to has not begun"),
    Reason(r"ReservationDeleted", "never", "reservation is gone", "the reservation that it belongs to was deleted"),
    Reason(r"Licenses", "room", "for licenses", "licenses that it needs are in use"),
    Reason(r"(Invalid)?Account.*|InvalidAccount", "never", "account", "its account may not be used"),
    Reason(r"InvalidQOS|QOSNotAllowed", "never", "QOS", "its QOS {qos} may not be used here"),
    Reason(r"QOSTimeLimit", "never", "time limit too long", "{limit} is more than its QOS {qos} allows"),
    Reason(r"JobHoldMaxRequeue|job_requeued_in_held_state", "held", "held", "it was requeued too often"),
    Reason(r"launch_failed_requeued_held|JobLaunchFailure", "held", "held", "it could not be started on its node"),
    Reason(r"SystemFailure", "slurm", "Slurm failed", "something failed when it was to start"),
    Reason(r"Cleaning", "slurm", "ending", "its last run is still being cleaned up"),
    Reason(r"Prolog", "slurm", "starting", "its node is being prepared"),
    Reason(r"MaxMemPerLimit|MemoryLimit", "never", "too much memory", "it asks for more memory than a job may have"),
)  # fmt: skip

_WHAT = {
    "GRES": "GPUs", "Cpu": "CPUs", "CPU": "CPUs", "Mem": "memory", "Memory": "memory", "Node": "nodes", "Jobs": "jobs",
    "Job": "jobs", "Submit": "waiting jobs", "Wall": "time", "Billing": "billing units", "BB": "burst buffer",
    "Energy": "energy", "License": "licenses", "Unknown": "resources",
}  # fmt: skip
# AssocGrpGRES, QOSMaxGRESPerUser, QOSMaxJobsPerUserLimit, AssocMaxCpuMinutesPerJobLimit …
_LIMIT = re.compile(
    rf"(?P<scope>Assoc|QOS)(?P<group>Grp|Max|Min)(?P<what>{'|'.join(_WHAT)})(?P<time>(?:Run)?Minutes)?"
    r"(?P<per>PerUser|PerAccount|PerJob|PerNode|PU|PA)?(?:Limit)?.*"
)


def reason_of(text: str) -> Reason:
    """The line of the table, or one that says Slurm's word as it is."""
    for reason in _REASONS:
        if re.fullmatch(reason.pattern, text):
            return reason
    if match := _LIMIT.fullmatch(text):
        return _limit(match)
    return Reason(text, "slurm", text, f"Slurm gives no other reason than “{text.replace('_', ' ')}”")


def _limit(match: re.Match[str]) -> Reason:
    what = _WHAT[match["what"]]
    scope = "the account {account}" if match["scope"] == "Assoc" else "the QOS {qos}"
    each = {"PerUser": " for each person", "PU": " for each person", "PerAccount": " for each account"}
    per = match["per"] or ""
    if per in ("PerJob", "PerNode") or match["group"] == "Min" or (match["what"] == "Wall" and match["group"] == "Max"):
        more = "less" if match["group"] == "Min" else "more"
        words = f"it asks for {more} {what} than {scope} allows a job"
        return Reason(match[0], "never", f"limit: {what}", words)
    over_time = " over time" if match["time"] else " at a time"
    words = f"{{user}} may use no more {what}{over_time}: the limit{each.get(per, '')} of {scope} is reached"
    return Reason(match[0], "limit", f"limit: {what}", words)
