"""What only the person in front of Corral can answer."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Protocol

from corral.hosts.known_hosts import HostKey
from corral.hosts.machine import Machine

PASSWORD_VARIABLE = "CORRAL_SUDO_PASSWORD"  # noqa: S105 (its name, not its value)


class Operator(Protocol):
    """Answers questions that come up while machines are reached; never called for two machines at once."""

    def trusts(self, machine: Machine, key: HostKey) -> bool:
        """First contact: whether this is the machine's key."""

    def sudo_password(self, machine: Machine, refused: bool) -> str | None:
        """A password for sudo; None to give up. `refused` says that the last one was wrong."""


@dataclass(frozen=True, slots=True)
class Unattended:
    """Nobody is there to ask: the environment and the command line have said everything."""

    accept_new_host_keys: bool = False

    def trusts(self, machine: Machine, key: HostKey) -> bool:  # noqa: ARG002 (what any operator is asked)
        return self.accept_new_host_keys

    def sudo_password(self, machine: Machine, refused: bool) -> str | None:  # noqa: ARG002 (as above)
        return None if refused else os.environ.get(PASSWORD_VARIABLE)


NOBODY = Unattended()
