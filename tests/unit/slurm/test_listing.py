"""Lists of jobs as real squeue and sacct printed them (tests/recorded/jobs)."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from corral.errors import SlurmError
from corral.slurm.listing import JobRow, history_script, parse_history, parse_queue, queue_script

RECORDED = Path(__file__).parents[2] / "recorded" / "jobs"
RELEASES = sorted(folder.name for folder in RECORDED.iterdir())
NAMES = {"plain", 'a name | with "odd" signs, 100% ü', "two\nlines", "a\x1fseparator", " spaces  around "}

every_release = pytest.mark.parametrize("release", RELEASES)


def read(release: str, name: str) -> str:
    # As bytes: Python would take other characters for line breaks as well.
    return (RECORDED / release / f"{name}.txt").read_bytes().decode()


def by_name(rows: list[JobRow]) -> dict[str, JobRow]:
    return {row.name: row for row in rows}


def test_three_releases_are_recorded() -> None:
    assert [release[:5] for release in RELEASES] == ["22.05", "24.11", "26.05"]


@every_release
def test_names_may_hold_anything(release: str) -> None:
    assert set(by_name(parse_queue(read(release, "queue")))) >= NAMES


@every_release
def test_gpus_are_counted_however_they_were_asked_for(release: str) -> None:
    jobs = by_name(parse_queue(read(release, "queue")))
    assert (jobs["typed on two nodes"].gpus, jobs["typed on two nodes"].gpu_type) == (4, "rtx5090")
    assert jobs["per job"].gpus == 2
    assert jobs["per task"].gpus == 3
    assert (jobs["array"].gpus, jobs["array"].gpu_type) == (1, "")
    assert jobs["plain"].gpus == 0


@every_release
def test_a_task_that_runs_and_one_that_waits(release: str) -> None:
    tasks = {row.array_task: row for row in parse_queue(read(release, "queue")) if row.name == "array"}
    assert set(tasks) == {1, 2, 3, 4}
    running, waiting = tasks[1], tasks[4]
    assert (running.state, running.reason, running.node_count, running.over) == ("RUNNING", "", 1, False)
    assert running.nodes.startswith("node")
    assert running.ended == running.started + 600 == running.started + (running.time_limit_s or 0)
    assert 0 <= running.elapsed_s < 60
    assert (waiting.state, waiting.reason, waiting.nodes, waiting.started) == ("PENDING", "JobArrayTaskLimit", "", 0)
    assert waiting.id == f"{waiting.array_id}_4"
    assert (waiting.user, waiting.qos, waiting.folder) == ("alice", "normal", "/shared")
    assert waiting.submitted > 1_700_000_000


@every_release
def test_a_list_by_record_has_the_waiting_tasks_in_one_row(release: str) -> None:
    rows = [row for row in parse_queue(read(release, "queue-by-record")) if row.name == "array"]
    assert sorted(row.state for row in rows) == ["PENDING", "RUNNING", "RUNNING"]
    (waiting,) = (row for row in rows if row.state == "PENDING")
    assert waiting.id == f"{waiting.array_id}_[3-4%2]"
    assert waiting.array_task is None


@every_release
def test_a_job_that_may_run_in_several_partitions_is_one_row(release: str) -> None:
    (job,) = (row for row in parse_queue(read(release, "queue")) if row.name == "anywhere")
    assert set(job.partition.split(",")) == {"main", "long"}
    # Slurm rounds seconds up to a minute.
    assert job.time_limit_s == (26 * 60 + 4) * 60
    assert job.array_id is None


@every_release
def test_history_says_how_jobs_ended(release: str) -> None:
    rows = parse_history(read(release, "history"))
    ended = {(row.state, row.exit_code, row.signal) for row in rows if row.name == "train"}
    assert ended >= {("COMPLETED", 0, 0), ("FAILED", 3, 0), ("FAILED", 0, 9)}
    done = next(row for row in rows if row.state == "COMPLETED" and row.name == "train")
    assert (done.over, done.node_count, done.time_limit_s, done.folder) == (True, 1, 1800, "/shared/alice")
    assert done.submitted <= done.started <= done.ended
    cancelled = [row for row in rows if row.name == "array" and row.array_task in (1, 2)]
    assert {(row.state, row.gpus) for row in cancelled} == {("CANCELLED", 1)}


@every_release
def test_history_keeps_names_but_for_what_accounting_itself_replaces(release: str) -> None:
    names = {row.name for row in parse_history(read(release, "history"))}
    assert names >= {name.replace('"', "`") for name in NAMES}


def test_a_job_cannot_forge_a_row() -> None:
    script = queue_script()
    separator = script[script.index("\x1f") :][:7]
    assert separator not in queue_script()


@pytest.mark.parametrize("parse", [parse_queue, parse_history])
def test_an_empty_list_has_no_rows(parse: object) -> None:
    assert callable(parse)
    assert parse("") == parse("\n") == []


def test_a_list_that_breaks_off_is_an_error() -> None:
    whole = read(RELEASES[0], "queue")
    with pytest.raises(SlurmError, match="breaks off"):
        parse_queue(whole[: len(whole) // 2])


def test_what_is_listed_can_be_chosen_and_is_quoted() -> None:
    script = queue_script(user="alice", states=("PENDING", "RUNNING"), jobs=("12", "13_4"), node="node1", expand=False)
    assert script.count("-u alice -t PENDING,RUNNING -j 12,13_4 -w node1") == 2
    assert " -r " not in script
    assert "-u 'a; b' -E now -s FAILED -j 12" in history_script(since=1, user="a; b", states=["FAILED"], jobs=["12"])


def test_ten_thousand_jobs_are_read_in_a_moment() -> None:
    line = read(RELEASES[-1], "queue").split("\x1d")[0].splitlines()[-1]
    listing = f"{line}\n" * 10_000 + "\x1d\n"
    began = time.process_time()
    assert len(parse_queue(listing)) == 10_000
    # Takes 0.05 s; the bound tells a slow machine from a slow algorithm.
    assert time.process_time() - began < 0.5
