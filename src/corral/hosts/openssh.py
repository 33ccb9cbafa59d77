"""The command line of OpenSSH, for sessions that a person types in."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from corral.hosts.known_hosts import KnownHosts
from corral.hosts.machine import Machine


def ssh_command(machine: Machine, pinned: KnownHosts, remote: Sequence[str]) -> list[str]:
    """Log in to a machine, or run a command on it, by the same way and the same host keys as Corral itself."""
    if machine.is_this_machine:
        return ["sh", "-c", " ".join(remote)] if remote else [os.environ.get("SHELL", "/bin/sh"), "-l"]
    argv = [*_ssh(machine, pinned), _destination(machine), *(["--", *remote] if remote else [])]
    return argv if machine.network_namespace is None else ["nsenter", f"--net={machine.network_namespace}", *argv]


def _ssh(machine: Machine, pinned: KnownHosts) -> list[str]:
    argv = ["ssh", "-p", str(machine.port), "-o", "LogLevel=ERROR"]
    if machine.ssh_config_name is None:
        argv += ["-F", "none"]
    if machine.identity_file is not None:
        argv += ["-i", str(machine.identity_file), "-o", "IdentitiesOnly=yes"]
    files, check = [pinned.path], "yes"
    if not pinned.keys(machine):
        # Not met yet: ssh itself asks, and writes the answer into the first file.
        files, check = [pinned.path, KnownHosts.of_user().path], "ask"
    quoted = " ".join(f'"{file}"' for file in files)
    argv += ["-o", f"UserKnownHostsFile={quoted}", "-o", f"StrictHostKeyChecking={check}"]
    if machine.jump is not None:
        # `-J` would leave the jump host to ssh's own known_hosts and keys.
        way = [*_ssh(machine.jump, pinned), "-W", "[%h]:%p", _destination(machine.jump)]
        argv += ["-o", f"ProxyCommand={shlex.join(way)}"]
    return argv


def _destination(machine: Machine) -> str:
    return f"{machine.user}@{machine.ssh_config_name or machine.address}"
