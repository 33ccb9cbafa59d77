"""A sweep, as the person who sent it holds it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from corral.api.job import Job
from corral.jobs.outcome import Unit
from corral.jobs.sweep.results import parse_objective
from corral.workflows import sweep as workflow

if TYPE_CHECKING:
    from corral.api.cluster import Cluster


class Sweep:
    """A declared set of trials, each of which is a job."""

    def __init__(self, cluster: Cluster, found: workflow.Sweep) -> None:
        self._cluster = cluster
        self._found = found

    def __repr__(self) -> str:
        return f"<corral.Sweep {self._found.folder.token} of {len(self._found.trials)} trials>"

    @property
    def trials(self) -> list[dict[str, str]]:
        """The settings of every trial, in order."""
        return [dict(trial.params) for trial in self._found.trials]

    @property
    def jobs(self) -> list[Job]:
        """One job per trial, in order."""
        found = self._found
        return [
            Job(self._cluster, Unit(found.folder, trial.index), found.job_id, found.name, returns=False)
            for trial in found.trials
        ]

    def status(self) -> dict[str, int]:
        """How many trials are waiting, running, done, failed, lost and cancelled."""
        status = self._cluster._run(workflow.status_of(self._cluster._desk, self._found))
        return {state.value: count for state, count in status.counts.items()}

    def wait(self, timeout: float | None = None) -> dict[str, int]:
        """Wait for every trial to end, well or not; then as `status`."""
        self._cluster._run(self._ends(), timeout)
        return self.status()

    def results(self, best: str | None = None) -> list[dict[str, Any]]:
        """One row per trial, the best first: its number, its settings, its state, what it measured.

        `best` says what that means, such as `min:loss`; without it the metrics' names tell.
        """
        objective = None if best is None else parse_objective(best)
        rows, _ = self._cluster._run(workflow.results_of(self._cluster._desk, self._found, objective))
        return [
            {"trial": row.trial.index, "state": row.state.value, **dict(row.trial.params), **row.values} for row in rows
        ]

    def resume(self, *, failed: bool = False) -> tuple[int, ...]:
        """Send again what was lost or cancelled and, if asked, what failed; which trials that are."""
        return self._cluster._run(workflow.resume(self._cluster._desk, self._found, failed=failed))

    def cancel(self) -> int:
        """End everything of it that waits or runs; how many trials that were."""
        return self._cluster._run(workflow.cancel(self._cluster._desk, self._found))

    def __await__(self) -> Any:
        return asyncio.wrap_future(self._cluster._start(self._ends())).__await__()

    async def _ends(self) -> None:
        await asyncio.gather(*(job._end() for job in self.jobs))
