"""The ledger's arithmetic: what was sent, what Slurm knows of it, and what is therefore lost.

Slurm forgets jobs that are younger than a few seconds when its controller dies. Pure functions here compare the
submissions that are written down with what Slurm says, and decide; `keeper.py` asks and acts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from corral.errors import CorralError
from corral.jobs.sweep.indices import expand

# A submission that is written down and not acknowledged: whoever was sending it should be done by then.
_SENDING_S = 20

LIVE_STATES = frozenset(
    (
        "PENDING", "CONFIGURING", "RUNNING", "SUSPENDED", "STOPPED", "COMPLETING", "REQUEUED", "REQUEUE_FED",
        "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT", "RESIZING", "SIGNALING", "STAGE_OUT",
    )
)  # fmt: skip
"""Of a job that will go on, or start again."""


@dataclass(frozen=True, slots=True)
class Submission:
    """One time that a submission, or a part of a sweep, was sent."""

    attempt: int
    job_id: int
    """0 where Slurm has not acknowledged it."""
    sent_at: int
    units: tuple[int | None, ...]
    """The trials that were sent; (None,) for a job, which has no trials."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One submission as its folder tells it."""

    token: str
    submissions: tuple[Submission, ...]
    """The first is there from the beginning."""
    ended: Mapping[int | None, int]
    """Exit codes of the units that ended by themselves."""

    @property
    def current(self) -> dict[int | None, Submission]:
        """The submission that counts, of every unit."""
        return {unit: submission for submission in self.submissions for unit in submission.units}

    def own(self, known: Iterable[Known]) -> list[Known]:
        """Of what Slurm knows, without what earlier submissions did: a copy that finds itself replaced ends well."""
        current = self.current
        return [job for job in known if job.trial in current and current[job.trial].job_id in (0, job.job_id)]


@dataclass(frozen=True, slots=True)
class Known:
    """One job or array task as Slurm tells it."""

    job_id: int
    trial: int | None
    state: str
    exit_code: str = ""
    """As the accounting writes it: the code, a colon, the signal."""

    @property
    def array_job_id(self) -> int:
        return self.job_id

    @property
    def array_indices(self) -> tuple[int, ...]:
        return () if self.trial is None else (self.trial,)


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do about an entry."""

    lost: tuple[int | None, ...] = ()
    """Units to send again."""
    unsure: bool = False
    """The queue does not know some of its units: ask the accounting."""
    settled: bool = False
    """Nothing will happen to it any more."""


def parse_submissions(text: str) -> tuple[Submission, ...]:
    """The lines of a folder's `submitted`; one attempt's later line has its job id.

    A line that was not written to its end counts as not written: the fence holds whatever is sent again for it.
    """
    found: dict[int, Submission] = {}
    for line in text.split("\n")[:-1]:
        try:
            attempt, job_id, sent_at, indices = line.split(" ")
            units: tuple[int | None, ...] = (None,) if indices == "-" else tuple(expand(indices))
            found[int(attempt)] = Submission(int(attempt), int(job_id), int(sent_at), units)
        except (ValueError, CorralError):
            continue
    return tuple(found[attempt] for attempt in sorted(found))


def decide(entry: Entry, queue: Sequence[Known], history: Sequence[Known] | None, now: float) -> Decision:
    """Compare; without `history` a unit that the queue does not know is unsure, with it lost or over."""
    live = _by_unit(entry, queue)
    past = _by_unit(entry, history or ())
    lost, unsure, busy = [], False, False
    for unit, submission in entry.current.items():
        if unit in entry.ended:
            continue
        # The queue has an array that was cancelled before any task started under its own number alone.
        state = live.get((submission.attempt, unit)) or live.get((submission.attempt, None))
        if state is not None:
            busy = busy or state in LIVE_STATES
        elif submission.job_id == 0 and now - submission.sent_at < _SENDING_S:
            busy = True
        elif history is None:
            unsure = True
        elif past.get((submission.attempt, unit), "PENDING") in LIVE_STATES:
            # The accounting may still believe that it waits or runs; only the controller would know.
            lost.append(unit)
    return Decision(tuple(lost), unsure, settled=not (lost or unsure or busy))


def unacknowledged(entry: Entry, queue: Iterable[Known]) -> dict[int, int]:
    """Job ids, by attempt, of submissions whose sender died before it could write them down."""
    known = {submission.job_id for submission in entry.submissions}
    waiting = [submission.attempt for submission in entry.submissions if submission.job_id == 0]
    strangers = sorted({job.job_id for job in queue} - known)
    return dict(zip(waiting[-1:], strangers[-1:], strict=False))


def _by_unit(entry: Entry, jobs: Iterable[Known]) -> Mapping[tuple[int, int | None], str]:
    """Slurm's word by attempt and unit. A job that nobody wrote down belongs to the last attempt."""
    attempts = {submission.job_id: submission.attempt for submission in entry.submissions}
    last = entry.submissions[-1].attempt
    found: dict[tuple[int, int | None], str] = {}
    for job in jobs:
        key = (attempts.get(job.job_id, last), job.trial)
        # A requeued job has several records in the accounting; one that goes on outweighs those that ended.
        if key not in found or job.state in LIVE_STATES:
            found[key] = job.state
    return found
