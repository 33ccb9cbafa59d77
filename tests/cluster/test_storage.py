"""A folder that is shared already: Corral checks that it is the same everywhere, and puts homes and jobs there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.lab import Lab, eventually, make_lab


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, image_cache: Path) -> Iterator[Lab]:
    lab = make_lab(
        tmp_path_factory.mktemp("storage"),
        image_cache,
        name=f"storage-{os.getpid()}",
        machines=2,
        storage={"shared": {}},
        users={"alice": {}},
    )
    with lab.while_up():
        yield lab


def test_homes_and_job_folders_are_the_same_on_every_machine(lab: Lab) -> None:
    said = lab.as_user("alice", "cd && pwd && echo precious > results && srun -w node1 sh -c 'pwd; cat results'")
    assert said.split() == ["/shared/home/alice", "/shared/home/alice", "precious"]
    folders = lab.ssh("node1", "stat -c '%a %U' /shared/home/alice /shared/jobs")
    assert folders.split() == ["700", "alice", "1777", "root"]
    assert lab.json("up")["changed"] == 0


def test_a_machine_that_sees_another_folder_is_named_and_runs_no_jobs(lab: Lab) -> None:
    lab.ssh("node1", "mkdir -p /tmp/other && mount --bind /tmp/other /shared && systemctl restart slurmd || true")
    said = lab.corral("up", exit_code=1)
    assert "/shared is not the same here as on node0" in said
    assert lab.ssh("node1", "systemctl is-active slurmd", exit_code=None).strip() != "active"
    lab.ssh("node1", "umount /shared")
    # slurmd has looked for the folder ever since.
    eventually(lambda: lab.ssh("node1", "systemctl is-active slurmd", exit_code=None).strip() == "active")
    lab.corral("up")
    assert lab.ssh("node0", "timeout 60 srun -w node1 hostname").strip() == "node1"
