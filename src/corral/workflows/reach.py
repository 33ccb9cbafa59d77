"""Reaching machines: all at once, then one by one where a question must be asked first."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from corral.deploy.events import Emit, Event
from corral.errors import HostError, Unreachable
from corral.hosts.base import Completed, Host
from corral.hosts.connect import connect
from corral.hosts.known_hosts import KnownHosts
from corral.hosts.login import Login, UnknownHostKey
from corral.hosts.machine import Machine
from corral.hosts.ssh import SSHHost
from corral.workflows.operator import PASSWORD_VARIABLE, Operator


@dataclass(frozen=True)
class Reached:
    """Open connections on which scripts run as root, and why there is none to the other machines."""

    login: Login
    hosts: dict[str, Host] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def by_ssh(self) -> dict[str, SSHHost]:
        """All but the machine that Corral itself runs on."""
        return {name: host for name, host in self.hosts.items() if isinstance(host, SSHHost)}

    async def close(self) -> None:
        await asyncio.gather(*(host.close() for host in self.hosts.values()))
        await self.login.close()


async def reach(machines: Sequence[Machine], pinned: KnownHosts, operator: Operator, emit: Emit) -> Reached:
    """Connect to every machine; those that do not answer are named, not fatal."""
    reached = Reached(Login(pinned))
    try:
        await _log_in(machines, reached, pinned, operator, emit)
        await _unlock_all(await _without_root(reached), reached, operator)
    except BaseException:
        await reached.close()
        raise
    for name, why in reached.missing.items():
        emit(Event("unreachable", name, text=why))
    return reached


async def _log_in(
    machines: Sequence[Machine], reached: Reached, pinned: KnownHosts, operator: Operator, emit: Emit
) -> None:
    left = list(machines)
    # Once more after each answer, because a jump host may be as new as the machine behind it.
    while left:
        strangers: dict[str, UnknownHostKey] = {}

        async def attempt(machine: Machine, strangers: dict[str, UnknownHostKey] = strangers) -> None:
            emit(Event("connecting", machine.name, text=machine.where))
            try:
                reached.hosts[machine.name] = await connect(machine, reached.login)
            except UnknownHostKey as problem:
                strangers[machine.name] = problem
            except Unreachable as problem:
                reached.missing[machine.name] = problem.problem

        await asyncio.gather(*(attempt(machine) for machine in left))
        answers: dict[tuple[str, int], bool] = {}
        for name in (machine.name for machine in left if machine.name in strangers):
            stranger = strangers[name]
            end = (stranger.machine.address, stranger.machine.port)
            if end not in answers:
                answers[end] = operator.trusts(stranger.machine, stranger.key)
                if answers[end]:
                    pinned.pin(stranger.machine, stranger.key)
            if not answers[end]:
                reached.missing[name] = stranger.problem
        left = [machine for machine in left if machine.name in strangers and machine.name not in reached.missing]


async def _without_root(reached: Reached) -> list[SSHHost]:
    """The machines on which sudo wants a password."""

    async def locked(host: SSHHost) -> bool:
        try:
            return not await host.is_root()
        except HostError as problem:
            _lose(reached, host, problem.problem)
            return False

    hosts = list(reached.by_ssh.values())
    answers = await asyncio.gather(*(locked(host) for host in hosts))
    return [host for host, answer in zip(hosts, answers, strict=True) if answer]


async def _unlock_all(locked: Sequence[SSHHost], reached: Reached, operator: Operator) -> None:
    """Give sudo its password; one that works on a machine is tried on all the others before asking again."""
    refused = False
    while locked:
        first, *locked = locked
        password = await _ask_and_unlock(first, reached, operator, refused=refused)
        if password is not None:
            answers = await asyncio.gather(*(_unlock(host, password, reached) for host in locked))
            locked = [host for host, said in zip(locked, answers, strict=True) if said is not None and not said.ok]
            refused = True


async def _ask_and_unlock(host: SSHHost, reached: Reached, operator: Operator, *, refused: bool) -> str | None:
    """The password that worked."""
    why = f"sudo refused the password of {host.machine.user}"
    if not refused:
        why = (
            f"sudo wants a password of {host.machine.user}. Try: a terminal, which asks for it, or put it into the "
            f"environment variable {PASSWORD_VARIABLE}"
        )
    while (password := operator.sudo_password(host.machine, refused)) is not None:
        said = await _unlock(host, password, reached)
        if said is None:
            return None
        if said.ok:
            return password
        refused, why = True, f"sudo refused the password of {host.machine.user}: {said.last_words(1)}"
    _lose(reached, host, why)
    return None


async def _unlock(host: SSHHost, password: str, reached: Reached) -> Completed | None:
    try:
        return await host.unlock(password)
    except HostError as problem:
        _lose(reached, host, problem.problem)
        return None


def _lose(reached: Reached, host: SSHHost, why: str) -> None:
    del reached.hosts[host.name]
    reached.missing[host.name] = why
