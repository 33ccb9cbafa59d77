"""The right kind of host for a machine."""

from __future__ import annotations

import os

from corral.errors import Unreachable
from corral.hosts.base import Host
from corral.hosts.local import LocalHost
from corral.hosts.login import Login
from corral.hosts.machine import Machine


async def connect(machine: Machine, login: Login) -> Host:
    """Reach a machine, or raise `Unreachable` with the reason in plain words."""
    if not machine.is_this_machine:
        return await login.connect(machine)
    if os.geteuid() != 0:
        raise Unreachable(machine.name, "changing this machine needs root. Try: sudo corral up")
    return LocalHost(machine.name)
