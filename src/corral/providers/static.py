"""Machines that exist: the cluster file says where they are."""

from __future__ import annotations

from corral.hosts.machine import Machine
from corral.hosts.sshconfig import Destination, machine_at
from corral.spec.model import ClusterSpec


def machines(spec: ClusterSpec) -> list[Machine]:
    """How each machine of the file is reached: its own keys count, then `ssh:`, then ~/.ssh/config."""
    return [
        machine_at(
            name,
            Destination(machine.address or name, machine.user or spec.ssh.user, machine.port or spec.ssh.port),
            key=machine.key or spec.ssh.key,
            jump=machine.jump or spec.ssh.jump,
            host_key=machine.host_key,
        )
        for name, machine in spec.machines.items()
    ]
