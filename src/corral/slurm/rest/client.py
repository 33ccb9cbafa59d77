"""One user's voice at slurmrestd."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace

from corral.errors import InputError, NoSuchJob
from corral.slurm.description import JobDescription
from corral.slurm.rest.adapter import adapter_for
from corral.slurm.rest.details import JobDetails
from corral.slurm.rest.reply import TokenRefused, TokenSuspected, read_reply
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
    """Called before the first question, when the token is about to expire, and once more when it is refused."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    _token: Token | None = field(default=None, init=False, repr=False)

    async def submit(self, description: JobDescription) -> int:
        """Send a job; its id, or its array's."""
        adapter = adapter_for((await self._fresh_token()).slurm_version)
        job_id = integer(await self._ask("POST", "job/submit", adapter.submission(description)), "job_id")
        if not job_id:
            raise malformed("job_id", job_id)
        return job_id

    async def job(self, job_id: JobId) -> JobDetails:
        """One job or array task. An array's own id gives the tasks that still wait, or the last one."""
        adapter = adapter_for((await self._fresh_token()).slurm_version)
        # Always the whole array: 22.05 does not find a task that still waits, and later releases answer so anyway.
        reply = await self._ask("GET", _path(job_id).partition("_")[0])
        found = [adapter.details(record) for record in reply.get("jobs") or ()]
        for details in found:
            if str(job_id) in (str(details.id), details.label):
                return details
        _, _, task = str(job_id).partition("_")
        for details in found:
            if task and details.stands_for(int(task)):
                return replace(details, array_task=int(task))
        raise NoSuchJob(f"Slurm knows no job {job_id}")

    async def cancel(self, job_id: JobId) -> None:
        """End a job, an array with all its tasks, or one task. Nothing happens to one that is over."""
        await self._ask("DELETE", _path(job_id))

    async def hold(self, job_id: int) -> None:
        """Keep a waiting job or array from starting. REST takes no single task here."""
        await self._ask("POST", _path(job_id), {"hold": True})

    async def release(self, job_id: int) -> None:
        """Let a held job or array start."""
        await self._ask("POST", _path(job_id), {"hold": False})

    async def _fresh_token(self) -> Token:
        if self._token is None or self._token.expires_soon:
            self._token = await self.get_token()
        return self._token

    async def _ask(self, method: str, path: str, body: Record | None = None) -> Record:
        """One question. What was refused for its token is asked once more with a new one; nothing else is."""
        try:
            return await self._ask_once(method, path, body)
        except TokenRefused:
            self._token = None
        except TokenSuspected:
            if not await self._token_is_bad():
                raise
        return await self._ask_once(method, path, body)

    async def _token_is_bad(self) -> bool:
        """Whether the controller is there, because it gives a new token, and does not take the old one."""
        new = await self.get_token()
        try:
            # Changes nothing, so that asking once too often does no harm.
            await self._ask_once("GET", _path(1))
        except TokenSuspected:
            self._token = new
            return True
        except NoSuchJob:
            pass
        return False

    async def _ask_once(self, method: str, path: str, body: Record | None = None) -> Record:
        token = await self._fresh_token()
        adapter = adapter_for(token.slurm_version)
        headers = {"X-SLURM-USER-NAME": self.user, "X-SLURM-USER-TOKEN": token.secret, "Connection": "close"}
        content = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(body).encode()
        full = f"/slurm/{adapter.API}/{path}"
        answer = await exchange(self.endpoint, method, full, headers, content, self.timeouts)
        return read_reply(answer, adapter.TOKEN_SUSPECTS)


def _path(job_id: JobId) -> str:
    if not re.fullmatch(r"[1-9]\d*(_\d+)?", str(job_id)):
        raise InputError(f"'{job_id}' is no job: a job is a number, such as 12, or an array's task, such as 12_3")
    return f"job/{job_id}"
