"""`corral check` on real machines: a healthy cluster passes, and of each real fault the right culprit is named."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.lab import Lab, eventually, make_lab
from tests.cluster.people import needs_torch


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, image_cache: Path) -> Iterator[Lab]:
    """A cluster with nothing wrong; a test leaves it so."""
    lab = make_lab(
        tmp_path_factory.mktemp("check"), image_cache, name=f"check-{os.getpid()}", users={"alice": {}},
        storage={"shared": {"mount": "/shared"}},
    )  # fmt: skip
    with lab.while_up():
        yield lab


@contextmanager
def broken(lab: Lab, node: str, command: str, mend: str) -> Iterator[None]:
    """A machine with a fault, which is in order again afterwards."""
    lab.ssh(node, command)
    try:
        yield
    finally:
        lab.ssh(node, mend)
        eventually(lambda: lab.ssh("node0", "sinfo -h -N -o %T").split() == ["idle"] * 3)


def errors(report: dict[str, Any]) -> set[tuple[str, str, str]]:
    """Rung, machine and kind of everything that is wrong."""
    return {
        (rung["rung"], finding["where"], finding["kind"])
        for rung in report["rungs"]
        for finding in rung["findings"]
        if finding["severity"] == "error"
    }


def rungs(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {rung["rung"]: rung for rung in report["rungs"]}


def queue(lab: Lab) -> str:
    return lab.ssh("node0", "squeue -h")


@needs_torch
def test_a_healthy_cluster_passes_every_rung_and_nothing_of_it_stays_behind(lab: Lab, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    report = lab.json("check", "--html", str(page))
    assert (report["version"], report["ok"], report["nodes"]) == (1, True, ["node0", "node1", "node2"])
    assert list(rungs(report)) == [
        *("daemons", "munge", "nodes", "storage", "gpus", "overlap", "hello", "pairs", "allreduce", "training")
    ]
    assert {rung["status"] for rung in report["rungs"]} == {"passed"}
    assert rungs(report)["allreduce"]["numbers"]["wrong"] == 0
    assert rungs(report)["training"]["numbers"]["same_parameters"]
    assert rungs(report)["overlap"]["numbers"]["at_once"] == 3
    assert rungs(report)["overlap"]["numbers"]["jobs"] == 4
    assert len(rungs(report)["pairs"]["numbers"]["pairs"]) == 3
    assert "node1 – node2" in page.read_text()
    assert queue(lab) == ""
    assert "corral-check" not in lab.ssh("node0", "ls -A /shared/jobs")


def test_one_slow_link_is_named_and_drained_where_that_is_wanted(lab: Lab) -> None:
    asyncio.run(lab.machines.limit("node2", "50mbit"))
    try:
        report = lab.json("check", "--only", "pairs", "--drain", exit_code=1)
    finally:
        asyncio.run(lab.machines.limit("node2", None))
    assert errors(report) == {("pairs", "node2", "slow-link")}
    assert "Mbit/s" in rungs(report)["pairs"]["findings"][0]["what"]
    assert report["drained"] == ["node2"]
    assert "corral check: its link is slow" in lab.ssh("node0", "sinfo -h -n node2 -o %E")
    found = lab.corral("check", "--only", "nodes", exit_code=1)
    assert "corral node resume node2" in found
    lab.corral("node", "resume", "node2")
    assert lab.json("check", "--only", "pairs")["ok"]


def test_a_wrong_munge_key_is_named_and_the_other_nodes_are_checked_all_the_same(lab: Lab) -> None:
    wrong = "cp -a /etc/munge/munge.key /run/munge.key; head -c 128 /dev/zero | tr '\\0' Z > /etc/munge/munge.key"
    right = "cat /run/munge.key > /etc/munge/munge.key; systemctl restart munge slurmd"
    with broken(lab, "node1", f"{wrong}; systemctl restart munge", right):
        report = lab.json("check", "--only", "munge,hello", exit_code=1)
        assert errors(report) == {("munge", "node1", "munge-key")}
        assert rungs(report)["hello"]["numbers"]["heard"] == ["node0", "node2"]


def test_a_missing_gpu_is_named_by_its_device(lab: Lab) -> None:
    with broken(lab, "node1", "rm /dev/nvidia0", "mknod -m 666 /dev/nvidia0 c 195 0"):
        report = lab.json("check", "--only", "nodes,gpus", exit_code=1)
    assert errors(report) == {("nodes", "node1", "gpu-missing")}
    assert "/dev/nvidia0" in rungs(report)["nodes"]["findings"][0]["what"]


def test_a_gpu_that_jobs_without_one_can_open_is_found(lab: Lab) -> None:
    """Slurm keeps jobs away from the device that it knows, and says nothing when that is no longer the GPU."""
    other = "rm /dev/nvidia0; mknod -m 666 /dev/nvidia0 c 1 7"
    with broken(lab, "node2", other, "rm /dev/nvidia0; mknod -m 666 /dev/nvidia0 c 195 0"):
        report = lab.json("check", "--only", "gpus", exit_code=1)
    assert errors(report) == {("gpus", "node2", "gpu-open")}


@pytest.mark.parametrize(
    ("fault", "mend", "kind"),
    [
        ("mount -o remount,bind,ro /shared", "mount -o remount,bind,rw /shared", "share-unwritable"),
        (
            "mkdir -p /mnt/k; mount --bind /shared /mnt/k; umount /shared",
            "mount --bind /mnt/k /shared; umount /mnt/k",
            "mount-missing",
        ),
        (
            "mkdir -p /mnt/o/jobs; chmod 1777 /mnt/o/jobs; mount --bind /mnt/o /shared",
            "umount /shared",
            "share-differs",
        ),
    ],
)
def test_a_node_with_a_bad_share_is_named(lab: Lab, fault: str, mend: str, kind: str) -> None:
    with broken(lab, "node2", fault, mend):
        report = lab.json("check", "--only", "storage", exit_code=1)
    assert errors(report) == {("storage", "node2", kind)}


def test_a_stopped_slurmd_is_named_and_the_rest_goes_on_without_it(lab: Lab) -> None:
    with broken(lab, "node1", "systemctl stop slurmd", "systemctl start slurmd"):
        said = lab.corral("check", "--only", "daemons,nodes,hello", exit_code=1)
    assert "slurmd does not run" in said
    assert "node0, node2 (without node1)" in said


def test_a_busy_node_is_left_alone_by_the_check_and_by_up(lab: Lab) -> None:
    job = lab.as_user(
        "alice", "sbatch --parsable -w node1 --gres=gpu:1 --mem=100 -o /dev/null --wrap 'sleep 600'"
    ).strip()
    eventually(lambda: "RUNNING" in lab.ssh("node0", f"squeue -h -j {job} -o %T"))
    try:
        report = lab.json("check", "--only", "nodes,gpus,hello")
        assert rungs(report)["nodes"]["numbers"]["busy"] == ["node1"]
        assert rungs(report)["hello"]["numbers"]["heard"] == ["node0", "node2"]
        up = lab.json("up")
        assert up["check"]["ok"]
        assert rungs(up["check"])["gpus"]["numbers"]["nodes"] == ["node0", "node2"]
    finally:
        lab.ssh("node0", f"scancel {job}")
    eventually(lambda: queue(lab) == "")


def test_an_interrupted_check_leaves_no_job_behind(lab: Lab) -> None:
    with lab.start("check", "--only", "overlap") as process:
        eventually(lambda: "corral-check" in lab.ssh("node0", "squeue -h -t R -o %j"), every_s=0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
    eventually(lambda: queue(lab) == "", within_s=10)


def test_what_does_not_exist_is_refused_with_what_does(lab: Lab) -> None:
    assert "rungs: daemons, munge" in lab.corral("check", "--only", "pears", exit_code=2)
    assert "its nodes: node0, node1, node2" in lab.corral("check", "--nodes", "node9", exit_code=2)
    assert "/usr/bin/python does not run" in lab.corral("check", "--env", "/usr", exit_code=2)
