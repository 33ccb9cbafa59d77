"""NVIDIA's driver from a real package mirror, as a dry run: no GPU is needed to resolve its packages."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.deploy.clusters import THREE, cluster_of, facts

from corral.deploy.steps.driver import steps
from corral.hosts.base import Completed
from corral.hosts.known_hosts import KnownHosts
from corral.hosts.login import Login
from corral.hosts.machine import Machine
from corral.providers.local import LocalMachines
from corral.spec.model import LocalSpec

# Debian 13's own branch.
BRANCH = "550"
# The machine runs another kernel than its distribution's, and nothing is to be installed for real.
DRY_RUN = r"""
mkdir -p /tmp/dry; cd /tmp/dry
printf '#!/bin/sh\necho amd64\n' > uname
printf '#!/bin/sh\ncase "$*" in *install*) set -- -s "$@";; esac\nexec /usr/bin/apt-get "$@"\n' > apt-get
chmod 755 uname apt-get; PATH=/tmp/dry:$PATH
"""
NON_FREE = "sed -i 's/ main$/ main contrib non-free non-free-firmware/' /etc/apt/sources.list"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory, image_cache: Path) -> Iterator[Machine]:
    folder = tmp_path_factory.mktemp("driver") / "local"
    machines = LocalMachines(folder, image_cache, f"driver-{os.getpid()}", LocalSpec(), contents="bare")
    try:
        yield asyncio.run(machines.up(["node0"], lambda _: None))[0]
    finally:
        asyncio.run(machines.down())


def install(machine: Machine, branch: str, before: str = "true") -> Completed:
    """What the step would do on that machine."""
    found = dataclasses.replace(facts(), os="debian", nvidia_gpus_on_pci=1)
    cluster = cluster_of(THREE + f"gpu: {{driver: {branch}}}\n", {"node0": found})
    change = steps(cluster, cluster.nodes["node0"])[0].diff("missing")
    assert change is not None

    async def there() -> Completed:
        host = await Login(KnownHosts(Path(os.devnull))).connect(machine)
        try:
            return await host.run(f"{before}\n{DRY_RUN}{change.script}", timeout_s=120)
        finally:
            await host.close()

    return asyncio.run(there())


def test_without_non_free_sources_the_way_out_is_told(machine: Machine) -> None:
    done = install(machine, BRANCH)
    assert not done.ok
    assert "add contrib, non-free and non-free-firmware" in done.stdout


def test_the_releases_own_branch_resolves(machine: Machine) -> None:
    done = install(machine, BRANCH, before=NON_FREE)
    assert done.ok, done
    assert "nvidia-open-kernel-dkms" in done.stdout


def test_a_branch_that_is_not_offered_is_refused(machine: Machine) -> None:
    done = install(machine, "999", before=NON_FREE)
    assert not done.ok
    assert "not branch 999" in done.stdout
