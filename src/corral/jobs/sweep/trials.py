"""What became of each declared trial: its own record of how it ended, and what Slurm says of its tasks.

A trial's record (`ended`) is the last word, because the batch script wrote it when the command was over. Without one, a
task in Slurm's queue counts; then how accounting says its last task ended. Accounting is never believed about tasks
that still run: after a controller's crash it goes on calling them running though nobody runs them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class TrialState(str, Enum):
    """What a person wants to know of a trial."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    LOST = "lost"
    """Nobody runs it and nobody decided so: Slurm does not know it, or its node died. It has to be sent again."""
    CANCELLED = "cancelled"


class Task(Protocol):
    """Tasks of an array in one of Slurm's listings; waiting ones may share a row."""

    @property
    def array_job_id(self) -> int: ...
    @property
    def array_indices(self) -> tuple[int, ...]: ...
    @property
    def state(self) -> str: ...


_WAITING = {"PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"}
_RUNNING = {"RUNNING", "COMPLETING", "CONFIGURING", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED", "SUSPENDED"}
_ENDS = {
    "COMPLETED": TrialState.DONE,
    "CANCELLED": TrialState.CANCELLED,
    "FAILED": TrialState.FAILED,
    "TIMEOUT": TrialState.FAILED,
    "DEADLINE": TrialState.FAILED,
    "OUT_OF_MEMORY": TrialState.FAILED,
    "NODE_FAIL": TrialState.LOST,
    "BOOT_FAIL": TrialState.LOST,
    "PREEMPTED": TrialState.LOST,
    "REVOKED": TrialState.LOST,
    "LAUNCH_FAILED": TrialState.LOST,
    "RECONFIG_FAIL": TrialState.LOST,
}


@dataclass(frozen=True, slots=True)
class TrialStatus:
    """One trial now."""

    index: int
    state: TrialState
    job_id: int | None = None
    """The array that its latest task belongs to."""
    slurm_state: str = ""
    exit_code: int | None = None

    @property
    def why(self) -> str:
        """A few words on how it went wrong; empty where nothing did."""
        if self.state is TrialState.LOST:
            return self.slurm_state.lower().replace("_", " ") or "Slurm does not know it"
        if self.state is not TrialState.FAILED:
            return ""
        if self.exit_code is not None:
            return f"exit code {self.exit_code}"
        return _WORDS.get(self.slurm_state, self.slurm_state.lower())


_WORDS = {"FAILED": "failed", "TIMEOUT": "time limit", "DEADLINE": "deadline", "OUT_OF_MEMORY": "out of memory"}


@dataclass(frozen=True, slots=True)
class SweepStatus:
    """Every trial of a sweep, in order."""

    trials: tuple[TrialStatus, ...]

    @property
    def counts(self) -> dict[TrialState, int]:
        """How many trials are in each state; every state is there."""
        found = Counter(trial.state for trial in self.trials)
        return {state: found[state] for state in TrialState}

    @property
    def over(self) -> bool:
        """Whether nothing is left to wait for or to send again."""
        return not any(trial.state in _OPEN for trial in self.trials)

    @property
    def missing(self) -> tuple[int, ...]:
        """What has to be sent again, since nobody else will run it."""
        return self.indices(TrialState.LOST)

    def indices(self, *states: TrialState) -> tuple[int, ...]:
        return tuple(trial.index for trial in self.trials if trial.state in states)


_OPEN = {TrialState.WAITING, TrialState.RUNNING, TrialState.LOST}


def sweep_status(
    count: int, ended: Mapping[int, int], queue: Iterable[Task], accounting: Iterable[Task] = ()
) -> SweepStatus:
    """Judge `count` declared trials by their exit codes, squeue's rows and sacct's rows of the sweep's jobs.

    Of trials sent again, leave out what an earlier submission did: a copy that finds itself replaced ends well.
    """
    queued = _latest(task for task in queue if _base(task.state) in _WAITING | _RUNNING)
    over = _latest(task for task in accounting if _base(task.state) in _ENDS)
    return SweepStatus(tuple(_judge(index, ended.get(index), queued, over) for index in range(count)))


def _judge(index: int, code: int | None, queued: Mapping[int, Task], over: Mapping[int, Task]) -> TrialStatus:
    task = queued.get(index) or over.get(index)
    base = _base(task.state) if task else ""
    if code is not None:
        state = TrialState.FAILED if code else TrialState.DONE
    elif index in queued:
        state = TrialState.WAITING if base in _WAITING else TrialState.RUNNING
    else:
        state = _ENDS.get(base, TrialState.LOST)
    return TrialStatus(index, state, task.array_job_id if task else None, base, code)


def _latest(tasks: Iterable[Task]) -> dict[int, Task]:
    """A trial that was sent again has tasks in several arrays: the newest array has the highest number."""
    found: dict[int, Task] = {}
    for task in sorted(tasks, key=lambda task: task.array_job_id):
        found.update(dict.fromkeys(task.array_indices, task))
    return found


def _base(state: str) -> str:
    """`CANCELLED by 1000` and `RUNNING+COMPLETING` begin with the state itself."""
    return state.split(" ", 1)[0].split("+", 1)[0].upper()
