"""The machines of a cluster, whichever provider they come from."""

from __future__ import annotations

from collections.abc import Sequence

from corral.errors import InputError
from corral.hosts.known_hosts import HostKey
from corral.hosts.machine import Machine
from corral.hosts.openssh import ssh_command
from corral.providers import static
from corral.providers.local import LocalMachines
from corral.spec.model import ClusterSpec
from corral.workflows.state import ClusterState, cache_root


def local_machines(spec: ClusterSpec) -> LocalMachines:
    """The provider of a local cluster."""
    assert spec.local is not None
    return LocalMachines(ClusterState(spec.name).local_folder, cache_root(), spec.name, spec.local)


def current_machines(spec: ClusterSpec) -> list[Machine]:
    """The machines as they are now, without making any."""
    if spec.local is None:
        return static.machines(spec)
    machines = local_machines(spec).machines()
    if not machines:
        raise InputError(f"the local cluster '{spec.name}' is not up. Try: corral up")
    return machines


def machine_named(spec: ClusterSpec, name: str) -> Machine:
    """One machine by its name."""
    for machine in current_machines(spec):
        if machine.name == name:
            return machine
    raise InputError(f"there is no machine '{name}' in {spec.name}; its machines: {', '.join(spec.machines)}")


def ssh_to(spec: ClusterSpec, name: str, remote: Sequence[str]) -> list[str]:
    """The command line of an interactive session on a machine, with the same host keys as everything else."""
    machine = machine_named(spec, name)
    known_hosts = ClusterState(spec.name).known_hosts
    if machine.host_key is not None:
        known_hosts.pin(machine, HostKey.of_text(machine.host_key))
    return ssh_command(machine, known_hosts, remote)
