"""Machines that exist: the cluster file says where they are."""

from __future__ import annotations

from corral.hosts.machine import Machine
from corral.spec.model import ClusterSpec


def machines(spec: ClusterSpec) -> list[Machine]:
    """How each machine of the file is reached; what a machine leaves out comes from `ssh:`."""
    return [
        Machine(
            name=name,
            address=machine.address or name,
            user=machine.user or spec.ssh.user,
            port=machine.port or spec.ssh.port,
            identity_file=key.expanduser() if (key := machine.key or spec.ssh.key) else None,
            host_key=machine.host_key,
        )
        for name, machine in spec.machines.items()
    ]
