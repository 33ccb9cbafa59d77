"""`init`: from a list of hosts to what they are and the cluster file that fits them."""

from __future__ import annotations

import asyncio
import ipaddress
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from corral.deploy import hardware
from corral.deploy.events import Emit
from corral.deploy.facts import Facts
from corral.deploy.hardware import Hardware
from corral.deploy.survey import Survey
from corral.errors import HostError, InputError, NotReady
from corral.hosts.known_hosts import HostKey
from corral.hosts.machine import Machine
from corral.hosts.ssh import SSHHost
from corral.spec.reserved import MACHINE_NAMES
from corral.workflows.operator import Operator
from corral.workflows.reach import reach
from corral.workflows.session import ask_machine
from corral.workflows.state import ClusterState

_LONGEST_NAME = 63


@dataclass(frozen=True, slots=True)
class Found:
    """One machine: how it is reached, and everything that was found out about it."""

    name: str
    given: str
    machine: Machine
    facts: Facts
    survey: Survey
    hardware: Hardware

    def to_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "given": self.given,
            "address": self.machine.address,
            "user": self.machine.user,
            "port": self.machine.port,
            "jump": None if self.machine.jump is None else self.machine.jump.where,
            **asdict(self.facts),
            **asdict(self.survey),
            **asdict(self.hardware),
        }


async def survey_hosts(cluster: str, machines: Sequence[Machine], emit: Emit, operator: Operator) -> list[Found]:
    """Connect to all hosts and find out everything; unless all of them answer there is one error for each."""
    pinned = ClusterState(cluster).known_hosts
    reached = await reach(machines, pinned, operator, emit)
    try:
        answers = await asyncio.gather(*(_ask(host) for host in reached.by_ssh.values()), return_exceptions=True)
    finally:
        await reached.close()
    found: dict[str, Found] = {}
    problems = dict(reached.missing)
    for given, answer in zip(reached.by_ssh, answers, strict=True):
        if isinstance(answer, Found):
            found[given] = answer
        elif isinstance(answer, HostError | KeyError | ValueError):
            problems[given] = f"it could not be examined: {answer}"
        else:
            raise answer
    if problems:
        raise NotReady([f"{host.name}: {problems[host.name]}" for host in machines if host.name in problems])
    named = []
    for machine, name in zip(machines, names_for([found[one.name].survey.hostname for one in machines]), strict=True):
        one = found[machine.name]
        named.append(replace(one, name=name, machine=replace(one.machine, name=name)))
        # The file has the address, not the name that was typed: the key belongs to both.
        for key in pinned.keys(machine):
            pinned.pin(one.machine, HostKey.of(key))
    return named


async def _ask(host: SSHHost) -> Found:
    (facts, survey), more = await asyncio.gather(ask_machine(host), host.run(hardware.SCRIPT, timeout_s=60))
    machine = replace(host.machine, address=_address(host, survey))
    return Found("", host.name, machine, facts, survey, hardware.parse(more.stdout))


def _address(host: SSHHost, survey: Survey) -> str:
    """An address that the other machines can use: the given one, or what its name stands for."""
    for candidate in (host.machine.address, host.peer_address):
        if _is_address(candidate):
            return candidate
    return survey.addresses[0] if survey.addresses else host.machine.address


def _is_address(text: str) -> bool:
    try:
        return not ipaddress.ip_address(text).is_loopback
    except ValueError:
        return False


def names_for(hostnames: Sequence[str]) -> list[str]:
    """A valid name for each machine: its own hostname, or a number where that says nothing or is not the only one."""
    names: list[str] = []
    own = [_valid(hostname) for hostname in hostnames]
    for index, name in enumerate(own):
        if not name or name in MACHINE_NAMES or own.count(name) > 1:
            free = (f"node{number}" for number in range(index, index + len(own) + 1))
            name = next(one for one in free if one not in own and one not in names)
        names.append(name)
    return names


def _valid(hostname: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", hostname.split(".")[0].lower()).strip("-")[:_LONGEST_NAME].strip("-")


def write_file(path: Path, text: str, *, force: bool) -> None:
    """Write the cluster file, never over another one by accident."""
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as problem:
        raise InputError(f"{path} exists already; --force writes over it, --output names another file") from problem
    except OSError as problem:
        raise InputError(f"{path} cannot be written: {problem.strerror}") from problem
