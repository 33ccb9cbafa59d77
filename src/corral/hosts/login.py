"""Logging in: whose host key is trusted, through which jump host, and what it means when it fails."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import asyncssh

from corral.errors import Unreachable
from corral.hosts.known_hosts import HostKey, KnownHosts
from corral.hosts.machine import Machine
from corral.hosts.netns import connect_inside
from corral.hosts.ssh import SSHHost

_TIMEOUT_S = 10.0
# Three unanswered keepalives and the host counts as lost: TCP alone would wait for a quarter of an hour.
_KEEPALIVE_S = 5
_KEEPALIVE_MISSES = 3


class UnknownHostKey(Unreachable):
    """First contact: somebody must say whether this is the right machine."""

    def __init__(self, machine: Machine, key: HostKey) -> None:
        super().__init__(
            machine.name,
            f"the host key of {machine.where} is not known yet: {key.kind} {key.fingerprint}. "
            f"Try: the same command in a terminal, which asks, or --accept-new-host-keys (init, plan, up, doctor)",
        )
        self.machine = machine
        self.key = key


class Login:
    """Opens connections; machines behind the same jump host share one connection to it."""

    def __init__(self, pinned: KnownHosts) -> None:
        self._pinned = pinned
        self._jumps: dict[Machine, asyncio.Task[asyncssh.SSHClientConnection]] = {}

    async def connect(self, machine: Machine) -> SSHHost:
        """Log in to a machine, or raise `Unreachable` with the reason in plain words."""
        return SSHHost(machine, await self._open(machine))

    async def close(self) -> None:
        """Close the connections to jump hosts, and with them everything that goes through them."""
        for task in self._jumps.values():
            with suppress(Unreachable, asyncio.CancelledError):
                (await task).close()

    async def _open(self, machine: Machine) -> asyncssh.SSHClientConnection:
        tunnel = await self._jump(machine.jump) if machine.jump else None
        witness = _Witness()
        trusted = _trusted(machine, self._pinned)
        try:
            connection = await asyncssh.connect(
                **await _way_to(machine, tunnel),
                **_credentials(machine),
                username=machine.user,
                known_hosts=(trusted, [], []),
                client_factory=lambda: witness,
                keepalive_interval=_KEEPALIVE_S,
                keepalive_count_max=_KEEPALIVE_MISSES,
                login_timeout=_TIMEOUT_S,
                connect_timeout=_TIMEOUT_S,
                compression_algs=None,
            )
        except (asyncssh.HostKeyNotVerifiable, asyncssh.KeyExchangeFailed) as problem:
            if witness.seen is not None and not trusted:
                raise UnknownHostKey(machine, witness.seen) from problem
            if trusted:
                raise Unreachable(machine.name, _changed(machine, self._pinned, witness.seen)) from problem
            raise Unreachable(machine.name, f"no SSH at {machine.where}: {problem}") from problem
        except asyncssh.PermissionDenied as problem:
            raise Unreachable(machine.name, _refused(machine)) from problem
        except (OSError, ValueError, asyncio.TimeoutError, asyncssh.Error) as problem:
            raise Unreachable(
                machine.name, f"no SSH at {machine.where}: {problem or type(problem).__name__}"
            ) from problem
        if machine.host_key is None and not self._pinned.keys(machine) and (key := connection.get_server_host_key()):
            self._pinned.pin(machine, HostKey.of(key))
        return connection

    async def _jump(self, jump: Machine) -> asyncssh.SSHClientConnection:
        task = self._jumps.get(jump)
        if task is None or (task.done() and task.exception()):
            task = self._jumps[jump] = asyncio.ensure_future(self._open(jump))
        return await asyncio.shield(task)


class _Witness(asyncssh.SSHClient):
    """Remembers a host key that nobody vouched for."""

    seen: HostKey | None = None

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:  # noqa: ARG002 (asyncssh decides)
        self.seen = HostKey.of(key)
        return False


def _trusted(machine: Machine, pinned: KnownHosts) -> list[asyncssh.SSHKey]:
    """The key that the file insists on, else the pinned one, else what the user's own ssh knows."""
    if machine.host_key is not None:
        return [asyncssh.import_public_key(machine.host_key)]
    return pinned.keys(machine) or KnownHosts.of_user().keys(machine)


async def _way_to(machine: Machine, tunnel: asyncssh.SSHClientConnection | None) -> dict[str, Any]:
    if machine.network_namespace is not None:
        sock = await asyncio.to_thread(
            connect_inside, machine.network_namespace, machine.address, machine.port, _TIMEOUT_S
        )
        return {"sock": sock, "config": None}
    way: dict[str, Any] = {"host": machine.address, "port": machine.port, "tunnel": tunnel}
    # By the name that ~/.ssh/config has: it leads to the same address, and to the keys meant for it.
    return way | ({"config": None} if machine.ssh_config_name is None else {"host": machine.ssh_config_name})


def _credentials(machine: Machine) -> dict[str, Any]:
    if machine.identity_file is None:
        return {}
    path = machine.identity_file
    try:
        return {"client_keys": [asyncssh.read_private_key(path)], "agent_path": None}
    except (OSError, asyncssh.KeyImportError) as problem:
        # A key with a passphrase: the agent may hold it opened.
        public = path.with_name(f"{path.name}.pub")
        if public.is_file():
            return {"client_keys": [], "agent_identities": [str(public)]}
        raise Unreachable(machine.name, f"the key {path} cannot be used: {problem}") from problem


def _refused(machine: Machine) -> str:
    with_key = f"with the key {machine.identity_file}" if machine.identity_file else "with ssh's own keys and agent"
    return f"{machine.where} refused the login {with_key}. Try: another user or key, or ssh-copy-id"


def _changed(machine: Machine, pinned: KnownHosts, seen: HostKey | None) -> str:
    shown = f"{seen.kind} {seen.fingerprint}" if seen else "a key of another kind"
    if machine.host_key is not None:
        place = f"replace host_key of {machine.name} in the cluster file"
    else:
        file = pinned if pinned.keys(machine) else KnownHosts.of_user()
        lines = file.lines(machine)
        place = f"remove line {', '.join(map(str, lines))} from {file.path}"
    return (
        f"the host key of {machine.where} has CHANGED: it shows {shown}, which is not the known one. Either the "
        f"machine was installed anew, or another machine answers in its place. Nothing was sent to it. Compare the "
        f"fingerprint on the machine itself (ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub), and if it is right, "
        f"{place}"
    )
