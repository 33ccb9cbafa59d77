"""Why a job ended: what killed it, or what its command ended with and said last."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from corral.jobs.why.explanation import Explanation, at
from corral.jobs.why.facts import Facts
from corral.jobs.words import clock, counted, size, span, state_word
from corral.slurm.accounting import Run
from corral.slurm.tres import Tres

# What Slurm gives a step that its memory limit killed.
_OOM_SIGNAL = 125


@dataclass(frozen=True, slots=True)
class _End:
    """The end of a job, whoever tells of it."""

    name: str
    state: str
    reason: str
    exit_code: int
    signal: int
    submitted: int
    started: int
    ended: int
    time_limit_s: int | None
    wants: Tres
    nodes: str
    run: Run | None


def explain_ended(facts: Facts) -> Explanation:
    """The whole answer about a job that is over."""
    end = _end(facts)
    happened, details, suggestions = _verdict(facts, end)
    if facts.rank is not None and end.state == "FAILED":
        happened = f"rank {facts.rank.rank} failed first, with exit code {facts.rank.code}"
        title, log = f"rank {facts.rank.rank} said last", tuple(facts.rank.words.splitlines())
    else:
        title, log = "it printed last", () if end.state in ("COMPLETED", "CANCELLED") else facts.log
    verb = {"COMPLETED": "ended well", "CANCELLED": "was cancelled"}.get(end.state, "failed")
    words = f"{' ' if end.state == 'CANCELLED' else ': '}{happened}" if happened else ""
    return Explanation(
        job=facts.label,
        name=end.name,
        state=end.state,
        headline=f"job {facts.label} ({end.name}) {verb}{words}",
        details=(*details, *_when(facts, end), *_again(facts)),
        suggestions=suggestions,
        log_title=title if log else "",
        log=log,
    )


def _end(facts: Facts) -> _End:
    job, run = facts.job, facts.runs[-1] if facts.runs else None
    if job is not None:
        return _End(
            job.name, job.state, job.reason, job.exit_code, job.signal, job.submitted, job.started, job.ended,
            job.time_limit_s, job.wants, ",".join(job.nodes), run,
        )  # fmt: skip
    if run is not None:
        return _End(
            run.name, run.state, "", run.exit_code, run.signal, run.submitted, run.started, run.ended,
            run.time_limit_s, run.wants, run.nodes, run,
        )  # fmt: skip
    code = facts.recorded_code or 0
    return _End("forgotten by Slurm", "FAILED" if code else "COMPLETED", "", code, 0, 0, 0, 0, None, Tres(), "", None)


def _verdict(facts: Facts, end: _End) -> tuple[str, list[str], tuple[str, ...]]:
    """What happened, what belongs to it, and what helps."""
    run = end.run
    steps = run.steps if run else ()
    again = f"corral requeue {facts.label} runs it again."
    if end.state == "OUT_OF_MEMORY" or any(s.state == "OUT_OF_MEMORY" or s.signal == _OOM_SIGNAL for s in steps):
        return _out_of_memory(end, max((step.peak_mib for step in steps), default=0))
    if end.state in ("TIMEOUT", "DEADLINE"):
        limit = "its time" if end.time_limit_s is None else f"its time limit of {clock(end.time_limit_s)}"
        hint = (
            "More --time, or corral.checkpoint in the script: it then goes on where it was, however often it is ended."
        )
        return f"{limit} was over", [], (hint,)
    if end.state in ("NODE_FAIL", "BOOT_FAIL"):
        where = end.nodes or "a node"
        return f"{where} failed or was lost while it ran", [], (again, f"Is the node well again? corral doctor {where}")
    if end.state == "PREEMPTED":
        return "a job of higher priority needed its place", [], (again,)
    if end.state == "CANCELLED":
        by = facts.names.get(run.cancelled_by, "") if run else ""
        return f"by {by}" if by else "", [], ()
    if end.reason == "BadConstraints" or (end.state == "FAILED" and not end.started and not steps and run):
        return "Slurm could not place it: no node has what it asks for", [], ("Ask for less. Try: corral status",)
    if end.state == "COMPLETED":
        return "", [], ()
    return _by_itself(facts, end)


def _out_of_memory(end: _End, peak_mib: int) -> tuple[str, list[str], tuple[str, ...]]:
    asked = end.wants.memory_mib // max(1, end.wants.nodes)
    each = " on each node" if end.wants.nodes > 1 else ""
    details = [f"It had asked for {size(asked)}{each}."] if asked else []
    if peak_mib:
        # Samples are seconds apart, so what it used in the end is seldom among them.
        details.append(f"The most that was seen in use by one of its processes: {size(peak_mib)}.")
    more = f" Try: --mem {_double(asked)}" if asked else ""
    return "it ran out of memory", details, (f"More memory, or smaller batches.{more}",)


def _double(mebibytes: int) -> str:
    twice = 2 * mebibytes
    return f"{twice // 1024}G" if twice >= 10240 else f"{twice}M"


def _by_itself(facts: Facts, end: _End) -> tuple[str, list[str], tuple[str, ...]]:
    steps = end.run.steps if end.run else ()
    killed = next((step.signal for step in steps if step.signal), end.signal)
    code = facts.recorded_code if facts.recorded_code is not None else end.exit_code
    if killed and killed != int(signal.SIGTERM):
        return f"its command was killed by {_signal(killed)}", [], ()
    if code in (126, 127):
        return f"exit code {code}: its command could not be started", [], ("Is it there on the nodes? Try: --env",)
    return f"its command ended with exit code {code}" if code else state_word(end.state), [], ()


def _signal(number: int) -> str:
    names = {signal.SIGSEGV: "a segmentation fault (SIGSEGV)", signal.SIGKILL: "SIGKILL, often for want of memory"}
    try:
        return names.get(signal.Signals(number), signal.Signals(number).name)
    except ValueError:
        return f"signal {number}"


def _when(facts: Facts, end: _End) -> list[str]:
    if not end.ended:
        return []
    if not end.started or not end.nodes:
        return [f"It never started; it was over at {at(end.ended, facts.now)}."]
    return [f"It ran {span(end.ended - end.started)} on {end.nodes}, until {at(end.ended, facts.now)}."]


def _again(facts: Facts) -> list[str]:
    found = []
    if len(facts.runs) > 1:
        before = ", ".join(state_word(run.state) for run in facts.runs[:-1])
        found.append(f"It had run before: {before}.")
    if sum(facts.tasks.values()) > 1:
        found.append(f"Its array has {counted(facts.tasks)}.")
    return found
