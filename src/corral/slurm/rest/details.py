"""One job as the controller knows it now, the same for every API version."""

from __future__ import annotations

import re
from dataclasses import dataclass

from corral.slurm.states import ENDED


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDetails:
    """A job or array task. Times are seconds since 1970, 0 where there is none yet."""

    id: int
    """Slurm's own: an array task that was split off has one of its own."""
    array_id: int
    """The id of the array that this is a task of; 0 for a plain job."""
    array_task: int | None
    array_tasks: str
    """The tasks that this record still stands for while they wait, such as `3-9%4`."""
    name: str
    user: str
    state: str
    """The base state, such as PENDING or COMPLETED; 22.05 says COMPLETING in its place while a job ends."""
    flags: frozenset[str]
    """What goes with it, such as COMPLETING or REQUEUED."""
    reason: str
    """Why it waits or ended, in Slurm's word; empty where there is none."""
    partition: str
    qos: str
    priority: int
    submitted: int
    eligible: int
    started: int
    """Of a pending job: when Slurm thinks that it will start."""
    ended: int
    """Of a running job: when its time is over."""
    time_limit_min: int | None
    """None where there is no limit."""
    node_count: int
    nodes: str
    exit_code: int
    signal: int
    """Of the batch script's end."""
    folder: str
    output: str
    """22.05 leaves its %-patterns as they are."""
    dependency: str
    tres: str
    """What was asked for, such as `cpu=4,mem=8G,node=1,billing=4,gres/gpu=1`."""
    restarts: int
    comment: str

    @property
    def label(self) -> str:
        """What people call it: `12`, or `12_3`."""
        return f"{self.array_id}_{self.array_task}" if self.array_task is not None else str(self.id)

    @property
    def over(self) -> bool:
        """Nothing of it will run any more, unless somebody requeues it."""
        return self.state in ENDED and not self.flags & {"COMPLETING", "REQUEUED"}

    def stands_for(self, task: int) -> bool:
        """Whether this is the record of an array's waiting tasks and that task is one of them."""
        for part in self.array_tasks.partition("%")[0].split(","):
            match = re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+))?)?", part)
            if match is None:
                # Long lists end in dots.
                return part == "..."
            first, last, step = (int(number) if number else None for number in match.groups())
            if first is not None and task in range(first, (first if last is None else last) + 1, step or 1):
                return True
        return False
