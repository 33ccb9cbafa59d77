"""A machine reached over SSH: one connection, many sessions."""

from __future__ import annotations

import asyncio
import math
import secrets
import tempfile
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress

import asyncssh

from corral.errors import Lost
from corral.hosts.base import Completed, OnLine, as_user
from corral.hosts.machine import Machine
from corral.hosts.patience import within

_FIRST_LINE_TIMEOUT_S = 10.0
_SUDO_TIMEOUT_S = 20.0
# The remote `timeout` ends a slow command; only a host that went silent outlives it by this much.
_SILENCE_S = 20.0
_KILL_AFTER_S = 5
# sshd's default MaxSessions is 10 per connection, and the lock holds one.
_MAX_SESSIONS = 6
_REFUSED_S = 15.0


class SSHHost:
    """Implements `Host` over one SSH connection that `login` opened, by sudo where the user is not root."""

    def __init__(self, machine: Machine, connection: asyncssh.SSHClientConnection) -> None:
        self._machine = machine
        self._connection = connection
        self._sessions = asyncio.Semaphore(_MAX_SESSIONS)
        self._sudo = "" if machine.user == "root" else "sudo -n "
        self._password = b""
        self._marker = secrets.token_hex(8)

    @property
    def name(self) -> str:
        return self._machine.name

    @property
    def machine(self) -> Machine:
        return self._machine

    @property
    def peer_address(self) -> str:
        """The address at the other end; behind a jump host, the name it was asked for."""
        peer = self._connection.get_extra_info("peername")
        return self._machine.address if self._machine.jump or not peer else str(peer[0])

    async def is_root(self) -> bool:
        """Whether scripts run as root already, without a password."""
        return not self._sudo or (await self.run("true", timeout_s=_SUDO_TIMEOUT_S)).ok

    async def unlock(self, password: str) -> Completed:
        """Use a password for sudo from now on, unless sudo refuses it."""
        # Alone on its standard input: a refused password must not make sudo read on in a script.
        check = self._session("sudo -S -p '' true", password.encode() + b"\n", None)
        done = await self._guarded(check, _SUDO_TIMEOUT_S)
        if done.ok:
            self._sudo, self._password = "sudo -S -p '' ", password.encode()
        return done

    async def run(
        self, script: str, *, stdin: bytes = b"", timeout_s: float = 60, on_line: OnLine | None = None
    ) -> Completed:
        return await self._run(script, self._sudo, "", stdin, timeout_s, on_line)

    async def run_as(self, user: str, script: str, *, stdin: bytes = b"", timeout_s: float = 60) -> Completed:
        """Run a script as one of the cluster's people, with their environment and nobody else's."""
        if user == self._machine.user:
            return await self._run(script, "", "", stdin, timeout_s, None)
        return await self._run(script, self._sudo, as_user(user), stdin, timeout_s, None)

    async def _run(
        self, script: str, sudo: str, prefix: str, stdin: bytes, timeout_s: float, on_line: OnLine | None
    ) -> Completed:
        limit = f"timeout -k {_KILL_AFTER_S} {math.ceil(timeout_s)} "
        command = self._command(script, sudo, limit + prefix)
        async with self._sessions:
            return await self._guarded(self._session(command, self._input(script, sudo) + stdin, on_line), timeout_s)

    @asynccontextmanager
    async def tunnel(self, address: str, port: int) -> AsyncIterator[str]:
        """A socket of this user's alone that leads to a service which the machine can reach."""
        with tempfile.TemporaryDirectory(prefix="corral-") as folder:
            path = f"{folder}/socket"
            try:
                listener = await self._connection.forward_local_path_to_port(path, address, port)
            except (OSError, asyncssh.Error) as problem:
                raise Lost(self.name, f"the connection broke: {problem}") from problem
            async with listener:
                yield path

    async def _guarded(self, session: Coroutine[None, None, Completed], timeout_s: float) -> Completed:
        try:
            return await within(session, timeout_s + _SILENCE_S)
        except asyncio.TimeoutError as problem:
            self._connection.abort()
            raise Lost(self.name, f"went silent for {timeout_s + _SILENCE_S:.0f} s") from problem
        except (OSError, asyncssh.Error) as problem:
            raise Lost(self.name, f"the connection broke: {problem}") from problem

    @asynccontextmanager
    async def hold(self, script: str) -> AsyncIterator[str]:
        try:
            process = await self._open(self._command(script, self._sudo))
            process.stdin.write(self._input(script, self._sudo))
            first = await asyncio.wait_for(process.stdout.readline(), _FIRST_LINE_TIMEOUT_S)
        except (OSError, asyncio.TimeoutError, asyncssh.Error) as problem:
            raise Lost(self.name, f"the connection broke: {problem}") from problem
        try:
            yield first.decode().strip()
        finally:
            with suppress(OSError, asyncio.TimeoutError, asyncssh.Error):
                process.stdin.write_eof()
                await asyncio.wait_for(process.wait_closed(), 2)

    async def _open(self, command: str) -> asyncssh.SSHClientProcess[bytes]:
        """Start a command. A session that sshd refused never ran, so asking again is safe.

        sshd counts a session until it has reaped it, which a busy machine takes its time for.
        """
        deadline = time.monotonic() + _REFUSED_S
        while True:
            try:
                return await self._connection.create_process(command, encoding=None)
            except asyncssh.ChannelOpenError:
                if self._connection.is_closed() or time.monotonic() > deadline:
                    raise
            await asyncio.sleep(0.1)

    def _command(self, script: str, sudo: str, prefix: str = "") -> str:
        """The script travels on stdin before its own input, so nothing of it shows in an argument list."""
        read = f"corral_script=$(head -c {len(script.encode())})"
        if sudo and self._password:
            # Sudo takes the password only if it asks for it; whatever it left is skipped up to the marker.
            read = f'while IFS= read -r line && [ "$line" != {self._marker} ]; do :; done; {read}'
        return f"""{sudo}{prefix}sh -c '{read}; eval "$corral_script"'"""

    def _input(self, script: str, sudo: str) -> bytes:
        if not (sudo and self._password):
            return script.encode()
        return b"%s\n%s\n%s" % (self._password, self._marker.encode(), script.encode())

    async def _session(self, command: str, stdin: bytes, on_line: OnLine | None) -> Completed:
        out: list[str] = []
        err: list[str] = []
        async with await self._open(command) as process:
            # A program may end without reading all its input: that is its right, not a broken connection.
            with suppress(BrokenPipeError):
                process.stdin.write(stdin)
                process.stdin.write_eof()
            await asyncio.gather(_collect(process.stdout, out, on_line), _collect(process.stderr, err, on_line))
            await process.wait_closed()
        if process.exit_status is None or process.exit_status < 0:
            raise Lost(self.name, "the connection broke while a command ran")
        return Completed(process.exit_status, "".join(out), "".join(err))

    async def close(self) -> None:
        self._connection.close()
        with suppress(asyncio.TimeoutError, OSError, asyncssh.Error):
            await asyncio.wait_for(self._connection.wait_closed(), 2)


async def _collect(stream: asyncssh.SSHReader[bytes], into: list[str], on_line: OnLine | None) -> None:
    async for line in stream:
        text = line.decode(errors="replace")
        into.append(text)
        if on_line is not None:
            on_line(text.rstrip("\n"))
