"""Jobs as real daemons described them: the same facts, whatever the API version."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.slurm.rest.replay import RELEASES, daemon, recorded

from corral.errors import NoSuchJob, SlurmRefused
from corral.slurm.rest.adapter import adapter_for
from corral.slurm.rest.details import JobDetails

every_release = pytest.mark.parametrize("release", RELEASES)


def details(release: str, name: str) -> JobDetails:
    (record,) = recorded(release, name)["body"]["jobs"]
    return adapter_for(release).details(record)


@every_release
def test_a_running_job(release: str) -> None:
    job = details(release, "running")
    assert (job.state, job.reason, job.flags, job.over) == ("RUNNING", "", frozenset(), False)
    assert (job.name, job.user, job.partition, job.qos) == ("train", "alice", "main", "normal")
    assert (job.nodes, job.node_count, job.time_limit_min) == ("node[0-1]", 2, 30)
    assert "gres/gpu=4" in job.tres
    # 22.05 leaves it to the reader to fill in the job's number.
    assert (job.folder, job.output.replace("%j", str(job.id))) == ("/shared/alice", f"/shared/alice/{job.id}.log")
    assert 1_700_000_000 < job.submitted <= job.started < job.ended == job.started + 30 * 60
    assert (job.label, job.array_id, job.array_task, job.restarts) == (str(job.id), 0, None, 0)
    assert job.priority > 0


@every_release
def test_a_job_that_waits_says_why(release: str) -> None:
    job = details(release, "waiting")
    assert (job.state, job.name) == ("PENDING", "ünïcode | 100 %")
    assert job.reason in ("Resources", "Priority")
    after = details(release, "waiting-for-a-job")
    assert (after.reason, after.comment) == ("Dependency", "a comment")
    assert after.dependency.startswith("afterany:")


@every_release
@pytest.mark.parametrize(
    ("name", "state", "exit_code", "signal"),
    [("completed", "COMPLETED", 0, 0), ("failed", "FAILED", 3, 0), ("killed", "FAILED", 0, 9)],
)
def test_a_job_that_ended_says_how(release: str, name: str, state: str, exit_code: int, signal: int) -> None:
    job = details(release, name)
    assert (job.state, job.exit_code, job.signal, job.over) == (state, exit_code, signal, True)
    assert job.ended >= job.started > 0


@every_release
def test_an_arrays_tasks_are_found_whether_they_run_or_still_wait(release: str, tmp_path: Path) -> None:
    array = recorded(release, "array")["path"].rpartition("/")[2]
    with daemon(tmp_path, release, *["array"] * 4) as slurm:
        rest = slurm.client()
        first, third = asyncio.run(rest.job(f"{array}_1")), asyncio.run(rest.job(f"{array}_3"))
        assert (first.state, first.label, first.array_id) == ("RUNNING", f"{array}_1", int(array))
        assert (third.state, third.label) == ("PENDING", f"{array}_3")
        assert asyncio.run(rest.job(array)).array_tasks == "2-4%1"
        with pytest.raises(NoSuchJob):
            asyncio.run(rest.job(f"{array}_9"))


@pytest.mark.parametrize(
    ("tasks", "task", "expected"),
    [
        ("3", 3, True), ("3", 4, False), ("1-9:2%4", 5, True), ("1-9:2", 4, False), ("1,4-6", 5, True), ("", 0, False),
        ("1,3,...", 700, True),
    ],
)  # fmt: skip
def test_waiting_tasks_are_understood(tasks: str, task: int, expected: bool) -> None:
    assert replace(details(RELEASES[0], "waiting"), array_tasks=tasks).stands_for(task) is expected


@pytest.mark.parametrize(
    ("version", "api"),
    [
        ("22.05.8", "v0.0.38"),
        ("23.11.4", "v0.0.38"),
        ("24.11.5", "v0.0.42"),
        ("25.05.1", "v0.0.42"),
        ("26.05.5", "v0.0.45"),
    ],
)
def test_the_newest_api_that_both_sides_know_is_spoken(version: str, api: str) -> None:
    assert api == adapter_for(version).API


@pytest.mark.parametrize("version", ["21.08.1", "24.05.0", "27.11.0", ""])
def test_a_slurm_that_speaks_none_of_them_is_named(version: str) -> None:
    with pytest.raises(SlurmRefused, match=r"It speaks to 22\.05"):
        adapter_for(version)
