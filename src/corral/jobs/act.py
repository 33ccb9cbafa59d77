"""Cancel, hold, release and requeue: all jobs that were named are tried, and each has an outcome."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from corral.errors import CorralError, NoSuchJob, SlurmRefused
from corral.jobs.desk import Desk
from corral.jobs.find import Found, find
from corral.jobs.layout import JobFolder
from corral.jobs.ledger import LIVE_STATES, parse_submissions
from corral.jobs.resend import resend
from corral.slurm.listing import JobRow, parse_queue, queue_script

Verb = Literal["cancel", "hold", "release", "requeue"]

_AT_ONCE = 8
_PLAIN = (
    (r"Access/permission denied|Invalid user id", "only {owner} and operators may {verb} it"),
    (r"already complet|no longer (running|pending)|Job/step already", "it has ended already"),
    (r"[Jj]ob is pending execution", "it waits already"),
    (r"operation is presently disabled|Requested operation is disabled", "it was sent as one that never runs twice"),
    (r"[Jj]ob is (already )?running", "it runs already"),
)

# Its old end is put aside first: the batch script would take it for this run's, and so would whoever follows it.
_REQUEUE = """
cd {unit} 2>/dev/null && mv -f ended .ended-before 2>/dev/null
if said=$(scontrol requeue {label} 2>&1); then
  rm -f .ended-before; : > {mark}; exit 0
fi
[ ! -e .ended-before ] || mv -f .ended-before ended
echo "$said"; exit 1
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one job that somebody named."""

    job: str
    done: bool
    words: str
    """What was done or why not, after the job's number."""


async def act(desk: Desk, verb: Verb, names: Sequence[str]) -> list[Outcome]:
    """Try all; what goes wrong with one does not keep the others."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(name: str) -> Outcome:
        async with gate:
            try:
                found = await find(desk, name)
            except CorralError as problem:
                return Outcome(name, False, str(problem))
            try:
                return await _act(desk, verb, found)
            except CorralError as problem:
                return Outcome(found.label, False, plain(str(problem), verb, found.user))

    return list(await asyncio.gather(*(one(name) for name in dict.fromkeys(names))))


async def all_of_mine(desk: Desk, verb: Verb) -> list[str]:
    """The person's jobs that the verb is for; an array counts once."""
    rows = parse_queue(await desk.must(queue_script(user=desk.user, expand=False), timeout_s=120))
    found = [row.id if verb == "requeue" else row.id.partition("_")[0] for row in rows if _fits(verb, row)]
    return list(dict.fromkeys(found))


def _fits(verb: Verb, row: JobRow) -> bool:
    held = row.reason.startswith("JobHeld")
    if verb == "cancel":
        return not row.over
    if verb == "requeue":
        return row.state == "RUNNING"
    return row.state == "PENDING" and held == (verb == "release")


def plain(said: str, verb: Verb, owner: str) -> str:
    """Slurm's refusal in plain words, or as it stands where there are none."""
    for pattern, words in _PLAIN:
        if re.search(pattern, said):
            return words.format(owner=owner, verb=verb)
    return f"Slurm says: {said}"


async def _act(desk: Desk, verb: Verb, found: Found) -> Outcome:
    states = {task.state for task in found.tasks}
    if verb == "requeue":
        return await _requeue(desk, found)
    if not states & LIVE_STATES:
        return Outcome(found.label, verb == "cancel", "has ended already")
    if verb == "cancel":
        await (await desk.rest()).cancel(found.label)
        if found.folder is not None and found.trial is None and found.user == desk.user:
            # It is settled: accounting never hears of a job that was cancelled before it could start, and the keeper
            # would believe that it was lost.
            await desk.run(f"rm -f {desk.home.open_mark(found.folder.token)}")
        return Outcome(found.label, True, "cancelled")
    if verb == "hold" and not states & {"PENDING"}:
        return Outcome(found.label, False, f"it runs already, and only what waits can be held. {_instead(found)}")
    await _hold_or_release(desk, verb, found)
    return Outcome(found.label, True, "held" if verb == "hold" else "released")


def _instead(found: Found) -> str:
    return f"Try: corral cancel {found.label}, or corral requeue {found.label}"


async def _hold_or_release(desk: Desk, verb: Verb, found: Found) -> None:
    if found.trial is None:
        rest = await desk.rest()
        await (rest.hold if verb == "hold" else rest.release)(int(found.label))
        return
    # REST knows arrays and jobs only.
    done = await desk.run(f"scontrol {verb} {found.label}")
    if not done.ok:
        raise SlurmRefused(done.last_words(1))


async def _requeue(desk: Desk, found: Found) -> Outcome:
    label, folder = found.label, found.folder
    if found.array:
        words = f"trials are requeued one by one, such as {label}_{next(iter(found.trials), 0)}"
        return Outcome(label, False, words)
    if {task.state for task in found.tasks} == {"PENDING"}:
        return Outcome(label, False, "it waits already")
    mine = folder is not None and found.user == desk.user
    unit = folder.unit(found.trial) if folder else "/"
    script = _REQUEUE.format(
        unit=shlex.quote(unit), label=label, mark=desk.home.open_mark(folder.token) if folder and mine else "/dev/null"
    )
    done = await desk.run(script)
    if done.ok:
        return Outcome(label, True, "waits to run again")
    if "Invalid job id" not in done.stdout:
        raise SlurmRefused(done.last_words(1))
    if folder is None or not mine:
        raise NoSuchJob(f"Slurm no longer knows job {label}, so it cannot run again")
    job_id = await _again(desk, folder, found.trial)
    return Outcome(label, True, f"sent again as job {job_id if found.trial is None else f'{job_id}_{found.trial}'}")


async def _again(desk: Desk, folder: JobFolder, trial: int | None) -> int:
    """Of a job that Slurm has forgotten everything is still in its folder."""
    submissions = parse_submissions(await desk.must(f"cat {shlex.quote(folder.submitted)}"))
    return await resend(desk, folder, submissions[-1].attempt + 1, [trial], anew=True)
