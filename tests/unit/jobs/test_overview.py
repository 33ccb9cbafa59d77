"""Many jobs on one screen."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from corral.errors import InputError
from corral.jobs.overview import Wanted, lines, parse_states, together
from corral.slurm.listing import JobRow

ROW = JobRow(
    id="1", name="train", user="alice", state="RUNNING", partition="main", qos="normal", priority=10, submitted=1,
    started=2, ended=0, elapsed_s=60, time_limit_s=None, node_count=1, nodes="node0", gpus=1, gpu_type="", reason="",
    exit_code=0, signal=0, folder="/shared/jobs/alice/261115-111013-rnlt",
)  # fmt: skip


def row(job: str, state: str = "RUNNING", **other: object) -> JobRow:
    return replace(ROW, id=job, state=state, **other)  # type: ignore[arg-type]  # fields of several types


def test_running_comes_first_then_waiting_by_priority_then_what_ended_last() -> None:
    rows = [
        row("1", "COMPLETED", ended=50),
        row("2", "FAILED", ended=60),
        row("3", "PENDING", priority=1),
        row("4", "PENDING", priority=9),
        row("5", started=30),
        row("6", started=20),
    ]
    assert [line.label for line in lines(rows, Wanted())] == ["6", "5", "4", "3", "2", "1"]


def test_an_array_is_one_line_with_its_tasks_counted() -> None:
    rows = [
        row("12_[5-9,11%2]", "PENDING", gpus=2),
        row("12_3", gpus=2),
        row("12_4", gpus=2, elapsed_s=90),
        row("12_0", "COMPLETED"),
    ]
    (line,) = lines(rows, Wanted())
    assert (line.label, line.counts) == ("12", {"PENDING": 6, "RUNNING": 2, "COMPLETED": 1})
    assert (line.row.id, line.gpus) == ("12_4", 4)
    assert [line.label for line in lines(rows, Wanted(each=True))] == ["12_3", "12_4", "12_[5-9,11%2]", "12_0"]


def test_only_wanted_states_are_counted() -> None:
    rows = [row("12_1", "FAILED"), row("12_2", "COMPLETED"), row("13"), row("14", "TIMEOUT")]
    found = lines(rows, Wanted(states=parse_states("failed")))
    assert [(line.label, line.counts) for line in found] == [("12", {"FAILED": 1}), ("14", {})]


def test_accounting_adds_what_ended_and_is_not_believed_about_the_rest() -> None:
    queue = [row("3"), row("2", "COMPLETED", name="from the queue")]
    history = [row("1", "FAILED"), row("2", "COMPLETED"), row("3"), row("4", "RUNNING")]
    found = together(queue, history)
    assert [(one.id, one.state) for one in found] == [("3", "RUNNING"), ("2", "COMPLETED"), ("1", "FAILED")]
    assert found[1].name == "from the queue"


def test_a_state_that_does_not_exist_is_an_error_that_lists_those_that_do() -> None:
    with pytest.raises(InputError, match=r"running, waiting, failed, done, cancelled"):
        parse_states("broken")
    assert parse_states("node_fail,done") == {"NODE_FAIL", "COMPLETED"}


def test_ten_thousand_jobs_are_sorted_in_a_moment() -> None:
    rows = [row(str(number), "PENDING", priority=number % 7) for number in range(1, 5001)]
    rows += [row(f"9999_{number}") for number in range(5000)]
    began = time.perf_counter()
    found = lines(rows, Wanted())
    assert time.perf_counter() - began < 1
    assert len(found) == 5001
