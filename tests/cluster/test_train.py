"""Trainings with `corral.train` on a cluster where things happen: their losses are those of an undisturbed one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.lab import Lab, eventually, make_lab
from tests.cluster.people import TORCH, Person, losses, needs_torch

# Real jobs on real machines, and perhaps a busy computer.
pytestmark = [pytest.mark.timeout(900), needs_torch]

_EXAMPLE = Path(__file__).parents[2] / "examples/train_lm.py"
_TRAIN = ("train_lm.py", "--steps", "40", "--batch", "2", "--report", "1", "--every", "8")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, image_cache: Path) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("train")
    storage = {"shared": {"mount": "/shared"}}
    lab = make_lab(folder, image_cache, name=f"train-{os.getpid()}", storage=storage, users={"alice": {}})
    with lab.while_up():
        yield lab


@pytest.fixture(scope="module")
def alice(lab: Lab) -> Person:
    person = Person(lab, "alice")
    person.write("train_lm.py", _EXAMPLE.read_text())
    return person


def send(alice: Person, nodes: int, *options: str) -> str:
    return alice.start("--nodes", str(nodes), "--ddp", "--env", TORCH, *_TRAIN, *options)


def finished(alice: Person, job: str) -> str:
    alice.corral("logs", "-f", job, timeout_s=400)
    return alice.log(job)


def test_a_training_of_local_steps_whose_node_dies_goes_on_elsewhere_with_the_same_losses(
    lab: Lab, alice: Person
) -> None:
    mode = ("--mode", "local", "--bits", "8")
    expected = losses(finished(alice, send(alice, 2, *mode)))
    # node1 and node2: the head is busy until the training runs there.
    blocker = alice.start("--no-folder", "bash", "-c", "until [ -e ~/away ]; do read -t 0.2 <> <(:); done")
    eventually(lambda: "node0" in alice.sh(f"squeue -h -j {blocker} -o %N"))
    job = send(alice, 2, *mode, "--compute-ms", "500", "--every-s", "2")
    eventually(lambda: "saved step" in alice.log(job), within_s=120)
    alice.sh("touch ~/away")
    asyncio.run(lab.machines.power_off("node2"))
    try:
        eventually(lambda: "continued at step" in alice.log(job), within_s=200, every_s=2)
        said = finished(alice, job)
    finally:
        lab.corral("up", timeout_s=300)
    assert losses(said) == expected
