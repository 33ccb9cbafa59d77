"""One job as the controller knows it now, the same for every API version."""

from __future__ import annotations

from dataclasses import dataclass


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
    """The base state, such as PENDING or COMPLETED."""
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
        return self.state not in ("PENDING", "RUNNING", "SUSPENDED") and not self.flags & {"COMPLETING", "REQUEUED"}
