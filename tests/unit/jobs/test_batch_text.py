"""Batch scripts as text: read them in tests/golden/batch, and write them anew with UPDATE_GOLDEN=1."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.golden.compare import assert_golden

from corral.hosts.shell import LocalShell
from corral.jobs import submit
from corral.jobs.desk import Desk
from corral.jobs.request import Environment, Gpus, JobRequest, Resources
from corral.jobs.site import Site
from corral.jobs.snapshot import Snapshot

GOLDEN = Path(__file__).parents[2] / "golden" / "batch"
DESK = Desk(LocalShell("ada"), Site("lab", "node0", "10.77.0.10", 6820, "/shared/jobs"))
SNAPSHOT = Snapshot(Path("/home/ada/project"), ("train.py",), "0123456789abcdef0123", 10)
ONE_GPU = Resources(gpus=Gpus(1), cpus=4, memory_mib=16_000)
TRAIN = JobRequest(("python", "train.py", "--lr", "1e-3"), "train", ONE_GPU)

REQUESTS = {
    "command": JobRequest(("nvidia-smi", "-L"), "nvidia-smi", ONE_GPU),
    "venv": replace(
        TRAIN,
        environment=Environment("venv", "/shared/envs/it's torch"),
        resources=Resources(
            gpus=Gpus(2, "rtx5090"), cpus=8, memory_mib=32_000, time_limit_min=90, partition="main", qos="scavenger"
        ),
        after=("7", "12_3"),
        variables={"WANDB_MODE": "offline run"},
    ),
    "conda": replace(TRAIN, environment=Environment("conda", "/shared/conda/envs/torch")),
    "container": replace(TRAIN, environment=Environment("container", "docker://pytorch/pytorch:2.4")),
    "ddp": replace(TRAIN, resources=replace(ONE_GPU, nodes=3), ddp=True),
}


@pytest.fixture(autouse=True)
def _one_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submit, "new_token", lambda: "260101-120000-abcd")


@pytest.mark.parametrize("name", REQUESTS)
def test_a_batch_script_is_the_golden_one(name: str) -> None:
    snapshot = None if name == "command" else SNAPSHOT
    prepared = submit.prepare(DESK, REQUESTS[name], snapshot, has_code=True)
    assert_golden(GOLDEN / f"{name}.sh", prepared.description.script.encode())


def test_a_sweeps_batch_script_is_the_golden_one() -> None:
    sweep = {"units": 100, "at_most": 4}
    prepared = submit.prepare(DESK, TRAIN, SNAPSHOT, has_code=True, array="0-99%4", sweep=sweep)
    assert_golden(GOLDEN / "sweep.sh", prepared.description.script.encode())


def test_the_directives_and_what_slurm_is_told_are_the_same_job() -> None:
    description = submit.prepare(DESK, REQUESTS["venv"], SNAPSHOT, has_code=True).description
    assert (description.nodes, description.cpus_per_task, description.memory_mib) == (1, 8, 32_000)
    assert (description.gres, description.time_limit_min, description.qos) == ("gpu:rtx5090:2", 90, "scavenger")
    assert description.dependency == "afterok:7:12_3"
    for line in (
        "--gres=gpu:rtx5090:2",
        "--time=90",
        "--dependency=afterok:7:12_3",
        "--chdir=/shared/jobs/ada/260101-",
    ):
        assert f"#SBATCH {line}" in description.script


@pytest.mark.parametrize(("minutes", "warn_s"), [(None, 120), (1, 15), (10, 60), (1440, 120)])
def test_the_warning_comes_a_tenth_of_the_time_before_the_end_within_reason(minutes: int | None, warn_s: int) -> None:
    request = replace(TRAIN, resources=replace(ONE_GPU, time_limit_min=minutes))
    assert submit.prepare(DESK, request, None, has_code=True).description.warn_s == warn_s


def test_a_job_gets_nothing_of_the_terminal_that_it_was_sent_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET", "x")
    environment = submit.prepare(DESK, TRAIN, None, has_code=True).description.environment
    assert "MY_SECRET" not in environment
    assert (environment["USER"], environment["CORRAL_ATTEMPT"]) == ("ada", "1")
