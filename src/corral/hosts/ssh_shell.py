"""People's shells on a machine that is reached over SSH."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from corral.hosts.base import Completed, Endpoint
from corral.hosts.login import Login
from corral.hosts.ssh import SSHHost


@dataclass(frozen=True, slots=True)
class SSHShell:
    """Implements `Shell` over one SSH connection: that person's own, or one that may become root."""

    user: str
    host: SSHHost
    login: Login

    async def run(self, script: str, *, stdin: bytes = b"", timeout_s: float = 60) -> Completed:
        return await self.host.run_as(self.user, script, stdin=stdin, timeout_s=timeout_s)

    @asynccontextmanager
    async def reach(self, address: str, port: int) -> AsyncIterator[Endpoint]:
        async with self.host.tunnel(address, port) as path:
            yield path

    async def close(self) -> None:
        await self.host.close()
        await self.login.close()
