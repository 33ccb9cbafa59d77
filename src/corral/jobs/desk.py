"""Where one person's jobs are started from: a shell on the cluster as that person, and Slurm's REST service."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from corral.errors import SlurmError
from corral.hosts.base import Completed, Shell
from corral.jobs.layout import Home
from corral.jobs.site import SITE_FILE, Site, parse_site

if TYPE_CHECKING:
    from corral.slurm.rest.client import SlurmRest
    from corral.slurm.rest.token import Token


@dataclass
class Desk:
    """Everything that commands about jobs need; they never care whether the cluster is here or far away."""

    shell: Shell
    site: Site
    _open: AsyncExitStack = field(default_factory=AsyncExitStack, repr=False)
    _rest: SlurmRest | None = field(default=None, repr=False)

    @property
    def user(self) -> str:
        return self.shell.user

    @property
    def home(self) -> Home:
        return Home(self.site.jobs, self.user)

    async def run(self, script: str, *, stdin: bytes = b"", timeout_s: float = 60) -> Completed:
        """Run a POSIX shell script on the cluster as the person."""
        return await self.shell.run(script, stdin=stdin, timeout_s=timeout_s)

    async def must(self, script: str, *, stdin: bytes = b"", timeout_s: float = 60) -> str:
        """What a script printed, or its last words as an error."""
        done = await self.run(script, stdin=stdin, timeout_s=timeout_s)
        if not done.ok:
            raise SlurmError(f"{self.site.cluster}: {done.last_words() or f'a command ended with {done.exit_code}'}")
        return done.stdout

    async def rest(self) -> SlurmRest:
        """Slurm's REST service, with a token of the person's own."""
        # Whoever only looks does not need it, and starts faster without.
        from corral.slurm.rest.client import SlurmRest
        from corral.slurm.rest.transport import Tcp, Unix

        if self._rest is None:
            way = self.shell.reach(self.site.rest_address, self.site.rest_port)
            endpoint = await self._open.enter_async_context(way)
            there = Unix(endpoint) if isinstance(endpoint, str) else Tcp(*endpoint)
            self._rest = SlurmRest(there, self.user, self._token)
        return self._rest

    async def _token(self) -> Token:
        from corral.slurm.rest.token import TOKEN_SCRIPT, parse_token

        return parse_token((await self.run(TOKEN_SCRIPT, timeout_s=30)).stdout)

    async def close(self) -> None:
        await self._open.aclose()
        await self.shell.close()


async def desk_at(shell: Shell) -> Desk:
    """The desk behind a shell, on whichever machine of the cluster it is."""
    done = await shell.run(f"cat {SITE_FILE}", timeout_s=30)
    if not done.ok:
        raise SlurmError(f"no jobs can be started yet: {done.last_words(1)}. Try: corral up")
    return Desk(shell, parse_site(done.stdout))
