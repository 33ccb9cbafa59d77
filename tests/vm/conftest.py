"""Virtual machines for the tests: woken up once, and one cluster deployed on two of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.lab import Lab, static_lab
from tests.vm.image import ensure_image
from tests.vm.vms import Machines, awake

# Emulated processors are fifteen times slower than real ones, and a daemon may miss its time at first.
_ATTEMPTS = 3
_UP_TIMEOUT_S = 900


@pytest.fixture(scope="session")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Machines that are awake, and nothing more."""
    if os.geteuid() != 0:
        pytest.skip("virtual machines on a bridge need root")
    image = ensure_image(Path(os.environ.get("CORRAL_CACHE", "/var/cache/corral")))
    with awake(image, tmp_path_factory.mktemp("machines")) as machines:
        yield machines


@pytest.fixture(scope="session")
def lab(strangers: Machines, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """The cluster on node0 and node1, as its operator has it."""
    folder = tmp_path_factory.mktemp("operator")
    lab = static_lab(
        [strangers[name].machine for name in ("node0", "node1")],
        folder,
        folder,
        name="storage",
        storage={"shared": {"server": "node1", "path": "/srv/shared"}},
        users={"alice": {}},
    )
    said = [lab.corral("up", exit_code=None, timeout_s=_UP_TIMEOUT_S)]
    while "is up:" not in said[-1] and len(said) < _ATTEMPTS:
        said.append(lab.corral("up", exit_code=None, timeout_s=_UP_TIMEOUT_S))
    assert "is up:" in said[-1], "\n".join(said)
    return lab


@pytest.fixture(scope="session")
def machines(strangers: Machines, lab: Lab) -> Machines:
    """node0 is the head, node1 serves the storage, and node2 is a stranger. A test that breaks something mends it."""
    assert lab.spec.head == "node0"
    return strangers
