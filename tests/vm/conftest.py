"""Virtual machines for the tests: woken up once, and one cluster deployed on them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.lab import Lab, static_lab
from tests.vm.image import ensure_image
from tests.vm.vms import Vm, awake


@pytest.fixture(scope="session")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Vm]]:
    """node0 to node2, just booted. A test that breaks something mends it."""
    if os.geteuid() != 0:
        pytest.skip("virtual machines on a bridge need root")
    image = ensure_image(Path(os.environ.get("CORRAL_CACHE", "/var/cache/corral")))
    with awake(image, tmp_path_factory.mktemp("machines")) as machines:
        yield machines


@pytest.fixture(scope="session")
def lab(machines: dict[str, Vm], tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A cluster of node0, which is the head and serves the storage, and node1; node2 is a stranger at first."""
    folder = tmp_path_factory.mktemp("lab")
    inside = [machines[name].machine for name in ("node0", "node1")]
    lab = static_lab(
        inside,
        folder,
        folder,
        name="storage",
        storage={"shared": {"server": "node0", "path": "/srv/shared"}},
        users={"alice": {}, "bob": {}},
    )
    lab.corral("up", timeout_s=400)
    return lab
