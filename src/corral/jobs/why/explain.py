"""From facts to an answer. Nothing is asked here, so every answer can be checked against recorded facts."""

from __future__ import annotations

from corral.jobs.desk import Desk
from corral.jobs.find import find
from corral.jobs.why.ended import explain_ended
from corral.jobs.why.explanation import Explanation, at
from corral.jobs.why.facts import Facts, gather
from corral.jobs.why.waiting import explain_waiting
from corral.jobs.words import amount, clock, counted, size, state_word
from corral.slurm.shown import ShownJob
from corral.slurm.states import ENDED


async def why(desk: Desk, text: str) -> Explanation:
    """The answer about the job that somebody named."""
    return explain(await gather(desk, await find(desk, text)))


def explain(facts: Facts) -> Explanation:
    """Why it waits, runs or ended."""
    job = facts.job
    if job is None or job.state in ENDED:
        return explain_ended(facts)
    return explain_waiting(facts, job) if job.state == "PENDING" else _running(facts, job)


def _running(facts: Facts, job: ShownJob) -> Explanation:
    nodes = ", ".join(job.nodes)
    wants = job.wants
    gpus = f"{amount(wants.gpus, 'GPU')}, " if wants.gpus else ""
    has = f"{gpus}{amount(wants.cpus, 'CPU')} and {size(wants.memory_mib)}"
    details = [f"It has {has} on {nodes}." if nodes else "Its nodes are being prepared."]
    if job.time_limit_s is None:
        details.append("It has no time limit.")
    else:
        details.append(f"Its time limit of {clock(job.time_limit_s)} is over at {at(job.ended, facts.now)}.")
    if job.restarts:
        ends = ", ".join(state_word(run.state) for run in facts.runs[:-1])
        details.append(f"It has been restarted {amount(job.restarts, 'time')}{f' ({ends})' if ends else ''}.")
    if sum(facts.tasks.values()) > 1:
        details.append(f"Its array has {counted(facts.tasks)}.")
    word = state_word(job.state)
    since = f" since {at(job.started, facts.now)}"
    return Explanation(
        job=facts.label,
        name=job.name,
        state=job.state,
        headline=f"job {facts.label} ({job.name}) is {word}{since}",
        details=tuple(details),
    )
