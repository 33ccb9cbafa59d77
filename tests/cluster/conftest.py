"""Real machines for the tests: made on this computer, shared by the tests of a session."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.local import named

from corral.hosts.machine import Machine
from corral.providers.local import LocalMachines
from corral.spec.model import LocalSpec


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.geteuid() != 0:
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="real machines need root"))


@pytest.fixture(scope="session")
def image_cache() -> Path:
    return Path(os.environ.get("CORRAL_CACHE", "/var/cache/corral"))


@pytest.fixture(scope="session")
def two_machines(tmp_path_factory: pytest.TempPathFactory, image_cache: Path) -> Iterator[LocalMachines]:
    """node0 and node1, with two GPUs each. A test that breaks something mends it."""
    directory = tmp_path_factory.mktemp("two-machines") / "local"
    cluster = LocalMachines(directory, image_cache, f"test-two-{os.getpid()}", LocalSpec(gpus=2))
    try:
        asyncio.run(cluster.up(["node0", "node1"], lambda _: None))
        yield cluster
    finally:
        asyncio.run(cluster.down())


@pytest.fixture
def node0(two_machines: LocalMachines) -> Machine:
    return named(two_machines)["node0"]


@pytest.fixture
def node1(two_machines: LocalMachines) -> Machine:
    return named(two_machines)["node1"]


@pytest.fixture
def fresh(tmp_path: Path, image_cache: Path) -> Iterator[LocalMachines]:
    """A cluster that is not up yet and is gone after the test."""
    cluster = LocalMachines(tmp_path / "local", image_cache, f"test-fresh-{os.getpid()}", LocalSpec())
    yield cluster
    asyncio.run(cluster.down())
