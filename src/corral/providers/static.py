"""Machines that exist: the cluster file says where they are."""

from __future__ import annotations

from corral.hosts.machine import Machine
from corral.hosts.sshconfig import Destination, machine_at
from corral.spec.model import ClusterSpec

# Only this very machine may leave its address out, and then nobody else is there to reach it.
_LOOPBACK = "127.0.0.1"


def machines(spec: ClusterSpec) -> list[Machine]:
    """How each machine of the file is reached: its own keys count, then `ssh:`, then ~/.ssh/config."""
    return [_machine(spec, name) for name in spec.machines]


def _machine(spec: ClusterSpec, name: str) -> Machine:
    machine, ssh = spec.machines[name], spec.ssh
    if machine.connection == "local":
        return Machine(name, machine.address or _LOOPBACK, is_this_machine=True)
    return machine_at(
        name,
        Destination(machine.address or name, machine.user or ssh.user, machine.port or ssh.port),
        key=machine.key or ssh.key,
        jump=machine.jump or ssh.jump,
        host_key=machine.host_key,
    )
