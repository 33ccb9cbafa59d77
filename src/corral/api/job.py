"""One job, as the person who sent it holds it."""

from __future__ import annotations

import asyncio
import base64
import pickle
import shlex
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from corral.api.failures import JobFailed, RemoteTraceback
from corral.errors import InputError
from corral.jobs.outcome import End, Unit, outcomes
from corral.jobs.sweep.results import Report, parse_reports

if TYPE_CHECKING:
    from corral.api.cluster import Cluster

_LAST_LINES = 20


class Job:
    """A job that was sent. `job.result()` waits for it; `await job` does the same in async code."""

    def __init__(self, cluster: Cluster, unit: Unit, job_id: int | None, name: str, *, returns: bool) -> None:
        self._cluster = cluster
        self._unit = unit
        self._returns = returns
        self.name = name
        self._id = job_id

    @property
    def id(self) -> str:
        """Slurm's number for it, such as `12` or `12_3`; empty while the controller was away when it was sent."""
        if self._id is None:
            return ""
        return str(self._id) if self._unit.trial is None else f"{self._id}_{self._unit.trial}"

    @property
    def folder(self) -> str:
        """Its folder on the cluster: output, working folder, checkpoints."""
        return self._unit.path

    def __repr__(self) -> str:
        return f"<corral.Job {self.id or self._unit.folder.token} {self.name}>"

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the job: what its function returned (None for a script), or the exception that it raised.

        A job that was killed, or a script that failed, raises `JobFailed`.
        """
        return self._cluster._run(self._result(), timeout)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the job to end, well or not; its exit code."""
        return self._cluster._run(self._end(), timeout).exit_code

    def done(self) -> bool:
        """Whether it has ended."""
        return self._unit in self._cluster._run(outcomes(self._cluster._desk, [self._unit]))

    def logs(self, rank: int | None = None) -> str:
        """What it has printed so far."""
        log = self._unit.log if rank is None else self._unit.folder.rank_log(rank, self._unit.trial)
        return self._cluster._run(self._read(log)).decode(errors="replace")

    def metrics(self) -> tuple[Report, ...]:
        """What it has reported so far with `corral.metrics.report`."""
        return parse_reports(self._cluster._run(self._read(f"{self._unit.path}/metrics.jsonl")).decode())

    def cancel(self) -> None:
        """End it, whether it waits or runs."""
        if not self.id:
            raise InputError(f"{self!r} has no number yet: the controller was away when it was sent. Try again later")
        self._cluster._run(self._cancel())

    def __await__(self) -> Generator[Any, None, Any]:
        return asyncio.wrap_future(self._cluster._start(self._result())).__await__()

    async def _cancel(self) -> None:
        await (await self._cluster._desk.rest()).cancel(self.id)

    async def _end(self) -> End:
        return await self._cluster._poller.end_of(self._unit)

    async def _result(self) -> Any:
        end = await self._end()
        content = await self._read(f"{self._unit.path}/result.pkl") if self._returns else b""
        if content and end.state in ("COMPLETED", "FAILED"):
            # The person's own file, written by the person's own job.
            ok, value, trace = pickle.loads(content)  # noqa: S301 (as said above)
            if ok:
                return value
            raise value from RemoteTraceback(trace)
        if end.exit_code == 0 and not self._returns:
            return None
        output = (await self._read(self._unit.log)).decode(errors="replace").splitlines()[-_LAST_LINES:]
        raise JobFailed(end.label, end.state, end.exit_code, "\n".join(output))

    async def _read(self, path: str) -> bytes:
        """A file of the job's; nothing where there is none."""
        script = f"[ ! -e {shlex.quote(path)} ] || base64 < {shlex.quote(path)}"
        return base64.b64decode(await self._cluster._desk.must(script, timeout_s=300))
