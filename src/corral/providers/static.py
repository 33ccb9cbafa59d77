"""Machines that exist: the cluster file says where they are."""

from __future__ import annotations

from corral.hosts.machine import Machine
from corral.spec.model import ClusterSpec

# Only this very machine may leave its address out, and then nobody else is there to reach it.
_LOOPBACK = "127.0.0.1"


def machines(spec: ClusterSpec) -> list[Machine]:
    """How each machine of the file is reached; what a machine leaves out comes from `ssh:`."""
    return [
        Machine(
            name=name,
            address=machine.address or _LOOPBACK,
            is_this_machine=machine.connection == "local",
            user=machine.user or spec.ssh.user,
            port=machine.port or spec.ssh.port,
            identity_file=key.expanduser() if (key := machine.key or spec.ssh.key) else None,
            host_key=machine.host_key,
        )
        for name, machine in spec.machines.items()
    ]
