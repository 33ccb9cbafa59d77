"""From evidence to findings: why a node is out of service, in the order in which causes explain each other."""

from __future__ import annotations

from collections.abc import Callable

from corral.checks import catalogue as kinds
from corral.checks import node_mends as mends
from corral.checks.finding import Finding
from corral.checks.machine_rules import RULES
from corral.checks.node_case import Case
from corral.slurm.reasons import Cause, Verdict, judge
from corral.slurm.text import NodeDetails, Reason

_GONE: dict[Cause, tuple[kinds.Kind, str]] = {
    "memory": (kinds.CAUSE_GONE, "Slurm drained it for {found} MiB of memory where {declared} MiB were declared"),
    "gpus": (kinds.CAUSE_GONE, "Slurm drained it for {found} GPUs where {declared} were declared"),
    "cpus": (kinds.HARDWARE, "Slurm drained it because it reported fewer CPUs than declared"),
    "disk": (kinds.HARDWARE, "Slurm drained it because it reported less disk than declared"),
    "silent": (kinds.CAUSE_GONE, "Slurm set it down because it did not respond"),
    "rebooted": (kinds.REBOOTED, "it rebooted without Slurm being told, and is kept out of service since"),
    "unkillable": (kinds.UNKILLABLE, "Slurm drained it because a job's processes did not end ({text})"),
    "slurm": (kinds.CAUSE_GONE, "Slurm took it out of service: {text}"),
}


def findings_of(case: Case) -> list[Finding]:
    """All that is wrong with one machine; a node that is out of service for a reason has at least one finding."""
    if case.machine is None:
        return [_unreachable(case), *_person(case)]
    found: list[Finding] = []
    for rule in RULES:
        found += rule(case, found)
    if not case.computes or not case.head.nodes:
        return found
    if case.slurm is None:
        return [*found, case.finding(kinds.UNKNOWN_NODE, "slurmctld does not know this machine")]
    return found + _person(case) + _left(case, case.slurm, found)


def _unreachable(case: Case) -> Finding:
    port = case.head.ports.get(case.name, "silent")
    if port == "silent":
        return case.finding(kinds.MACHINE_OFF, f"neither you nor the head can reach it: {case.why_not}")
    return case.finding(kinds.MACHINE_HANGS, f"it answers on the network, but one cannot log in: {case.why_not}")


def _person(case: Case) -> list[Finding]:
    details = case.slurm
    if details is None or details.reason is None or not details.out_of_service:
        return []
    reason = details.reason
    if judge(reason).cause != "person":
        return []
    what = f"taken out of service by {reason.by or 'somebody'} at {_moment(reason)}: {reason.text}"
    return [case.finding(kinds.PERSON, what, severity="warning")]


def _left(case: Case, details: NodeDetails, found: list[Finding]) -> list[Finding]:
    """What Slurm still holds against a node whose machine shows no fault."""
    if not details.out_of_service or any(finding.severity == "error" for finding in found):
        return []
    if details.reason is None:
        # A node that just came back, or whose controller did: if it stays silent, Slurm will give a reason.
        return []
    verdict = judge(details.reason)
    if verdict.cause == "person":
        return []
    if "NOT_RESPONDING" in details.flags:
        return [_silent(case, f"the controller gets no answer from it since {_moment(details.reason)}")]
    if "INVALID_REG" in details.flags:
        return [_silent(case, f"what it last reported of itself was refused: {details.reason.text}")]
    return [_explained(case, details.reason, verdict)]


def _silent(case: Case, what: str) -> Finding:
    return case.finding(kinds.SILENT, what, mend=mends.start(case.cluster, case.node, "slurmd"))


def _explained(case: Case, reason: Reason, verdict: Verdict) -> Finding:
    if verdict.cause == "job-start":
        log = case.machine.log if case.machine else ""
        return case.finding(kinds.JOB_START, f"a job could not be started there ({reason.text}); slurmd's log: {log}")
    kind, words = _GONE[verdict.cause]
    what = words.format(found=verdict.found, declared=verdict.declared, text=reason.text)
    stuck = case.machine.stuck if case.machine else ()
    if verdict.cause == "unkillable" and stuck:
        return case.finding(kind, f"{what}; still hanging: {', '.join(stuck)}")
    what += f" ({_moment(reason)}); nothing is wrong with it now"
    return case.finding(kind, what, mend=mends.resume(case.name, reason))


def _moment(reason: Reason) -> str:
    return reason.since.replace("T", " ") or "an unknown time"


def in_brief(node: str, reason: Reason) -> str:
    """One line about a reason for people, from its text alone; the doctor knows more."""
    verdict = judge(reason)
    if verdict.cause == "person":
        return f"taken out of service by a person: {reason.text}"
    return f"{_BRIEF[verdict.cause](verdict, reason)}. Try: corral doctor {node}"


_BRIEF: dict[Cause, Callable[[Verdict, Reason], str]] = {
    "memory": lambda v, _: f"less memory than declared: {v.found} MiB found, {v.declared} MiB declared",
    "gpus": lambda v, _: f"a GPU is missing: {v.found} found, {v.declared} declared",
    "cpus": lambda _v, _r: "fewer CPUs than declared",
    "disk": lambda _v, _r: "less disk than declared",
    "silent": lambda _v, _r: "it does not respond",
    "rebooted": lambda _v, _r: "it rebooted unexpectedly",
    "unkillable": lambda _v, _r: "a job there could not be ended",
    "job-start": lambda _v, _r: "a job could not be started there",
    "slurm": lambda _v, r: r.text,
}
