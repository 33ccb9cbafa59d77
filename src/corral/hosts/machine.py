"""How one machine is reached."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine as a provider hands it over: enough to open a connection to it, and nothing secret."""

    name: str
    address: str
    user: str = "root"
    port: int = 22
    identity_file: Path | None = None
    """Private key to log in with; None leaves the choice to ssh's own defaults and the agent."""
    host_key: str | None = None
    """Public key to insist on (`ssh-ed25519 AAAA…`); None means that the pinned one counts."""
    ssh_config_name: str | None = None
    """What ~/.ssh/config knows the machine by; None leaves that file out."""
    jump: Machine | None = None
    """The machine to go through."""
    is_this_machine: bool = False
    """Corral runs on it: no connection is needed."""
    network_namespace: Path | None = None
    """Enter this namespace to reach the address: the private network of a local cluster."""

    @property
    def where(self) -> str:
        """The way to the machine, for messages: `ada@192.0.2.10:22 through root@192.0.2.1:22`."""
        own = f"{self.user}@{self.address}:{self.port}"
        return own if self.jump is None else f"{own} through {self.jump.where}"
