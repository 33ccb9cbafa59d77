"""Machines on this computer as their own tests handle them: by the provider and by SSH, without a command line."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import corral
from corral.errors import HostError
from corral.hosts.known_hosts import KnownHosts
from corral.hosts.login import Login
from corral.hosts.machine import Machine
from corral.providers.local import LocalMachines

SOURCES = Path(corral.__file__).parent.parent
"""What a Python that does not know of Corral needs on its path."""

UP_BY_HAND = """
import asyncio, os, pathlib
from corral.providers.local import LocalMachines
from corral.spec.model import LocalSpec
directory, cache = pathlib.Path(os.environ["DIRECTORY"]), pathlib.Path(os.environ["CACHE"])
cluster = LocalMachines(directory, cache, os.environ["CLUSTER"], LocalSpec())
asyncio.run(cluster.up(["node0", "node1"], lambda line: None))
"""
"""A program that brings a cluster up in a process of its own, which a test can kill."""


def say_nothing(_: str) -> None:
    return None


def until(condition: Callable[[], object], what: str, timeout_s: float = 30) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout_s} s until {what}"
        time.sleep(0.05)


def sh(machine: Machine, script: str, timeout_s: float = 30) -> str:
    async def there() -> str:
        # Their keys are known from the start, so nothing is pinned.
        host = await Login(KnownHosts(Path(os.devnull))).connect(machine)
        try:
            done = await host.run(script, timeout_s=timeout_s)
        finally:
            await host.close()
        assert done.ok, done.last_words()
        return done.stdout.strip()

    return asyncio.run(there())


def boot_id(machine: Machine) -> str:
    """Another one at every boot, and none while the machine cannot be asked."""
    try:
        return sh(machine, "cat /proc/sys/kernel/random/boot_id")
    except (HostError, AssertionError):
        return ""


def named(cluster: LocalMachines) -> dict[str, Machine]:
    return {machine.name: machine for machine in cluster.machines()}


def by_hand_name() -> str:
    return f"test-hand-{os.getpid()}"


def by_hand(tmp_path: Path, image_cache: Path) -> dict[str, str]:
    """The environment in which `UP_BY_HAND` brings a cluster up in a process of its own."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(SOURCES), *(entry for entry in sys.path if "site-packages" in entry)]),
        "DIRECTORY": str(tmp_path / "local"),
        "CACHE": str(image_cache),
        "CLUSTER": by_hand_name(),
    }
