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
    """Pinned public key (`ssh-ed25519 AAAA…`); None means ~/.ssh/known_hosts decides."""
    is_this_machine: bool = False
    """Corral runs on it: no connection is needed."""
    network_namespace: Path | None = None
    """Enter this namespace to reach the address: the private network of a local cluster."""
