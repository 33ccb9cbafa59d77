"""One user's voice at slurmrestd."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from urllib.parse import quote

from corral.errors import NoSuchJob
from corral.slurm.description import JobDescription
from corral.slurm.rest.adapter import Adapter, adapter_for
from corral.slurm.rest.details import JobDetails
from corral.slurm.rest.reply import TokenRefused, read_reply
from corral.slurm.rest.token import GetToken, Token
from corral.slurm.rest.transport import Endpoint, Timeouts, exchange
from corral.slurm.rest.wire import Record, integer, malformed

JobId = int | str
"""A job's number, or an array task as `12_3`."""


@dataclass(slots=True)
class SlurmRest:
    """Slurm, asked as one user; it decides what that user may do.

    Every method raises `SlurmUnavailable` where a daemon is away (whether it did what was asked is then unknown) and
    `SlurmRefused` where Slurm says no; `NoSuchJob` is one of its refusals.
    """

    endpoint: Endpoint
    user: str
    get_token: GetToken = field(repr=False)
    """Called before the first question, and once more whenever the token is refused."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    _token: Token | None = field(default=None, init=False, repr=False)

    async def submit(self, description: JobDescription) -> int:
        """Send a job; its id, or its array's."""
        token = await self._current_token()
        adapter = adapter_for(token.slurm_version)
        reply = await self._ask("POST", "job/submit", adapter.submission(description))
        job_id = integer(reply, "job_id")
        if not job_id:
            raise malformed("job_id", job_id)
        return job_id

    async def job(self, job_id: JobId) -> JobDetails:
        """One job, or one array task. For an array: the record of the tasks that still wait, or of its last one."""
        adapter = await self._adapter()
        records = (await self._ask("GET", _path(job_id))).get("jobs") or []
        found = [adapter.details(record) for record in records]
        for details in found:
            if str(job_id) in (str(details.id), details.label):
                return details
        raise NoSuchJob(f"Slurm knows no job {job_id}")

    async def cancel(self, job_id: JobId) -> None:
        """End a job, an array with all its tasks, or one task. Nothing happens to one that is over."""
        await self._ask("DELETE", _path(job_id))

    async def hold(self, job_id: JobId) -> None:
        """Keep a waiting job from starting."""
        await self._ask("POST", _path(job_id), {"hold": True})

    async def release(self, job_id: JobId) -> None:
        """Let a held job start."""
        await self._ask("POST", _path(job_id), {"hold": False})

    async def _adapter(self) -> Adapter:
        return adapter_for((await self._current_token()).slurm_version)

    async def _current_token(self) -> Token:
        if self._token is None:
            self._token = await self.get_token()
        return self._token

    async def _ask(self, method: str, path: str, body: Record | None = None) -> Record:
        """One question; a token that is refused is replaced once."""
        try:
            return await self._ask_once(method, path, body)
        except TokenRefused:
            self._token = None
        return await self._ask_once(method, path, body)

    async def _ask_once(self, method: str, path: str, body: Record | None) -> Record:
        token = await self._current_token()
        headers = {"X-SLURM-USER-NAME": self.user, "X-SLURM-USER-TOKEN": token.secret, "Connection": "close"}
        content = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(body).encode()
        full = f"/slurm/{adapter_for(token.slurm_version).API}/{path}"
        return read_reply(await exchange(self.endpoint, method, full, headers, content, self.timeouts))


def _path(job_id: JobId) -> str:
    return f"job/{quote(str(job_id), safe='')}"
