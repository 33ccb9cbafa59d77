"""A machine reached over SSH: one connection, many sessions."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import asyncssh

from corral.errors import Lost, Unreachable
from corral.hosts.base import Completed, OnLine
from corral.hosts.machine import Machine
from corral.hosts.netns import connect_inside

_CONNECT_TIMEOUT_S = 10.0
# Three unanswered keepalives and the host counts as lost: TCP alone would wait for a quarter of an hour.
_KEEPALIVE_S = 5
_KEEPALIVE_MISSES = 3
# The remote `timeout` ends a slow command; only a host that went silent outlives it by this much.
_SILENCE_S = 20.0
_KILL_AFTER_S = 5
# sshd's default MaxSessions is 10 per connection.
_MAX_SESSIONS = 8


class SSHHost:
    """Implements `Host` over one SSH connection that is opened by `connect`."""

    def __init__(self, machine: Machine, connection: asyncssh.SSHClientConnection) -> None:
        self._machine = machine
        self._connection = connection
        self._sessions = asyncio.Semaphore(_MAX_SESSIONS)

    @property
    def name(self) -> str:
        return self._machine.name

    async def run(
        self, script: str, *, stdin: bytes = b"", timeout_s: float = 60, on_line: OnLine | None = None
    ) -> Completed:
        command = self._command(script, f"timeout -k {_KILL_AFTER_S} {math.ceil(timeout_s)} ")
        async with self._sessions:
            try:
                return await asyncio.wait_for(
                    self._session(command, script.encode() + stdin, on_line), timeout_s + _SILENCE_S
                )
            except asyncio.TimeoutError as problem:
                self._connection.abort()
                raise Lost(self.name, f"went silent for {timeout_s + _SILENCE_S:.0f} s") from problem
            except (OSError, asyncssh.Error) as problem:
                raise Lost(self.name, f"the connection broke: {problem}") from problem

    @asynccontextmanager
    async def hold(self, script: str) -> AsyncIterator[str]:
        try:
            process = await self._connection.create_process(self._command(script), encoding=None)
            process.stdin.write(script.encode())
            first = await asyncio.wait_for(process.stdout.readline(), _CONNECT_TIMEOUT_S)
        except (OSError, asyncio.TimeoutError, asyncssh.Error) as problem:
            raise Lost(self.name, f"the connection broke: {problem}") from problem
        try:
            yield first.decode().strip()
        finally:
            with suppress(OSError, asyncio.TimeoutError, asyncssh.Error):
                process.stdin.write_eof()
                await asyncio.wait_for(process.wait_closed(), 2)

    def _command(self, script: str, prefix: str = "") -> str:
        """The script travels on stdin before its own input, so nothing of it shows in an argument list."""
        return (
            f"{'' if self._machine.user == 'root' else 'sudo -n '}{prefix}"
            f"""sh -c 'corral_script=$(head -c {len(script.encode())}); eval "$corral_script"'"""
        )

    async def _session(self, command: str, stdin: bytes, on_line: OnLine | None) -> Completed:
        out: list[str] = []
        err: list[str] = []
        async with self._connection.create_process(command, encoding=None) as process:
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


async def connect(machine: Machine) -> SSHHost:
    """Log in to a machine, or raise `Unreachable` with the reason in plain words."""
    options: dict[str, Any] = {
        "username": machine.user,
        "keepalive_interval": _KEEPALIVE_S,
        "keepalive_count_max": _KEEPALIVE_MISSES,
        "login_timeout": _CONNECT_TIMEOUT_S,
        "connect_timeout": _CONNECT_TIMEOUT_S,
        "compression_algs": None,
    }
    if machine.identity_file is not None:
        options |= {"client_keys": [str(machine.identity_file)], "agent_path": None, "config": None}
    if machine.host_key is not None:
        options["known_hosts"] = ([asyncssh.import_public_key(machine.host_key)], [], [])
    where = f"{machine.user}@{machine.address}:{machine.port}"
    try:
        if machine.network_namespace is not None:
            options["sock"] = await asyncio.to_thread(
                connect_inside, machine.network_namespace, machine.address, machine.port, _CONNECT_TIMEOUT_S
            )
        else:
            options |= {"host": machine.address, "port": machine.port}
        return SSHHost(machine, await asyncssh.connect(**options))
    except asyncssh.HostKeyNotVerifiable as problem:
        raise Unreachable(
            machine.name, f"the host key of {where} is not the pinned one, or not known yet: {problem}"
        ) from problem
    except asyncssh.PermissionDenied as problem:
        raise Unreachable(machine.name, f"{where} refused the login: {problem}") from problem
    except (OSError, asyncio.TimeoutError, asyncssh.Error) as problem:
        raise Unreachable(machine.name, f"no SSH at {where}: {problem or type(problem).__name__}") from problem


def ssh_command(machine: Machine, known_hosts: Path | None, remote: Sequence[str]) -> list[str]:
    """The OpenSSH command line for an interactive session, entering the machine's namespace if it has one."""
    if machine.is_this_machine:
        return ["sh", "-c", " ".join(remote)] if remote else [os.environ.get("SHELL", "/bin/sh"), "-l"]
    argv = ["ssh", "-p", str(machine.port), "-o", "LogLevel=ERROR"]
    if machine.network_namespace is not None:
        argv = ["nsenter", f"--net={machine.network_namespace}", *argv]
    if machine.identity_file is not None:
        argv += ["-i", str(machine.identity_file), "-o", "IdentitiesOnly=yes"]
    if known_hosts is not None:
        argv += ["-o", f"UserKnownHostsFile={known_hosts}", "-o", "StrictHostKeyChecking=yes"]
    return [*argv, f"{machine.user}@{machine.address}", *(["--", *remote] if remote else [])]


async def _collect(stream: asyncssh.SSHReader[bytes], into: list[str], on_line: OnLine | None) -> None:
    async for line in stream:
        text = line.decode(errors="replace")
        into.append(text)
        if on_line is not None:
            on_line(text.rstrip("\n"))
