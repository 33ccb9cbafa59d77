"""What became of each trial, from its own record and from Slurm's listings."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from corral.errors import CorralError
from corral.jobs.sweep.indices import compress, expand
from corral.jobs.sweep.trials import SweepStatus, TrialState, sweep_status


@dataclass(frozen=True)
class Row:
    state: str
    array_indices: tuple[int, ...]
    array_job_id: int = 7


def states(found: SweepStatus) -> list[str]:
    return [trial.state.value for trial in found.trials]


def test_a_trial_s_own_record_of_its_end_is_the_last_word() -> None:
    found = sweep_status(2, {0: 0, 1: 3}, [Row("RUNNING", (0, 1))])
    assert states(found) == ["done", "failed"]
    assert found.trials[1].why == "exit code 3"


def test_waiting_tasks_that_share_a_row_are_told_apart_from_running_ones() -> None:
    found = sweep_status(6, {}, [Row("RUNNING", (0,)), Row("COMPLETING", (1,)), Row("PENDING", (2, 3, 4, 5))])
    assert states(found) == ["running", "running", "waiting", "waiting", "waiting", "waiting"]
    assert found.missing == ()
    assert not found.over


@pytest.mark.parametrize(
    ("state", "expected", "why"),
    [
        ("COMPLETED", "done", ""),
        ("CANCELLED by 1000", "cancelled", ""),
        ("FAILED", "failed", "failed"),
        ("TIMEOUT", "failed", "time limit"),
        ("OUT_OF_MEMORY", "failed", "out of memory"),
        ("NODE_FAIL", "lost", "node fail"),
        ("PREEMPTED", "lost", "preempted"),
    ],
)
def test_without_a_record_accounting_says_how_a_task_ended(state: str, expected: str, why: str) -> None:
    trial = sweep_status(1, {}, [], [Row(state, (0,))]).trials[0]
    assert (trial.state.value, trial.why) == (expected, why)


def test_a_requeued_task_waits_whatever_accounting_says_of_its_first_run() -> None:
    assert states(sweep_status(1, {}, [Row("PENDING", (0,))], [Row("NODE_FAIL", (0,))])) == ["waiting"]


def test_trials_that_nobody_knows_are_lost_and_have_to_be_sent_again() -> None:
    found = sweep_status(5, {0: 0}, [Row("RUNNING", (1,))], [Row("CANCELLED", (2,)), Row("NODE_FAIL", (3,))])
    assert states(found) == ["done", "running", "cancelled", "lost", "lost"]
    assert found.missing == (3, 4)
    assert found.trials[4].why == "Slurm does not know it"


def test_accounting_alone_never_makes_a_task_running() -> None:
    assert sweep_status(1, {}, [], [Row("RUNNING", (0,))]).missing == (0,)


def test_of_a_trial_sent_twice_the_newer_task_counts() -> None:
    rows = [Row("COMPLETED", (0,), array_job_id=12), Row("CANCELLED", (0,), array_job_id=9)]
    assert states(sweep_status(1, {}, [], rows)) == ["done"]
    assert sweep_status(1, {}, [], rows).trials[0].job_id == 12


def test_counts_name_every_state_and_a_sweep_is_over_when_nothing_is_open() -> None:
    found = sweep_status(3, {0: 0, 1: 1}, [], [Row("CANCELLED", (2,))])
    assert found.over
    assert found.counts[TrialState.DONE] == found.counts[TrialState.FAILED] == found.counts[TrialState.CANCELLED] == 1
    assert found.counts[TrialState.LOST] == 0


@pytest.mark.parametrize(
    ("indices", "text"),
    [([], ""), ([4], "4"), ([0, 1, 2, 3, 4, 5, 7, 9, 10], "0-5,7,9-10"), ([9, 1, 1, 0], "0-1,9")],
)
def test_indices_are_written_as_slurm_writes_them_and_read_back(indices: list[int], text: str) -> None:
    assert compress(indices) == text
    assert expand(text) == tuple(sorted(set(indices)))


def test_slurm_s_own_brackets_steps_and_limits_are_understood() -> None:
    assert expand("[0-10:5,12%4]") == (0, 5, 10, 12)
    with pytest.raises(CorralError, match=r"no set of array indices: '\.\.\.'"):
        expand("0-5,...")
