"""What was sent, what Slurm knows of it, and what is therefore lost."""

from __future__ import annotations

import itertools

import pytest

from corral.jobs.ledger import Decision, Entry, Known, Submission, decide, parse_submissions, unacknowledged

NOW = 1_000_000
LONG_AGO, JUST_NOW = NOW - 3600, NOW - 5
BUSY, SETTLED, UNSURE, LOST = Decision(), Decision(settled=True), Decision(unsure=True), Decision(lost=(None,))


def job(*submissions: tuple[int, int, int], ended: int | None = None) -> Entry:
    """A job that was sent so often: attempt, job id, when."""
    sent = tuple(Submission(attempt, job_id, when, (None,)) for attempt, job_id, when in submissions)
    return Entry("t", sent, {} if ended is None else {None: ended})


def known(*jobs: tuple[int, str]) -> list[Known]:
    return [Known(job_id, None, state) for job_id, state in jobs]


ONCE = job((1, 7, LONG_AGO))
TWICE = job((1, 7, LONG_AGO), (2, 9, LONG_AGO))


@pytest.mark.parametrize(
    ("entry", "queue", "history", "decision"),
    [
        (ONCE, known((7, "PENDING")), None, BUSY),
        (ONCE, known((7, "RUNNING")), None, BUSY),
        (ONCE, known((7, "COMPLETING")), None, BUSY),
        (ONCE, known((7, "REQUEUE_HOLD")), None, BUSY),
        # It ended, by its own record or by the queue's word.
        (job((1, 7, LONG_AGO), ended=0), [], None, SETTLED),
        (job((1, 7, LONG_AGO), ended=3), known((7, "FAILED")), None, SETTLED),
        (ONCE, known((7, "TIMEOUT")), None, SETTLED),
        (ONCE, known((7, "CANCELLED")), None, SETTLED),
        # The queue has forgotten it: the accounting decides.
        (ONCE, [], None, UNSURE),
        (ONCE, [], known((7, "CANCELLED")), SETTLED),
        (ONCE, [], known((7, "OUT_OF_MEMORY")), SETTLED),
        (ONCE, [], [], LOST),
        (ONCE, known((8, "RUNNING")), [], BUSY),
        # The accounting goes on believing in jobs that the controller lost.
        (ONCE, [], known((7, "RUNNING")), LOST),
        (ONCE, [], known((7, "PENDING")), LOST),
        # Requeued: several records of the same job, and the one that goes on counts.
        (ONCE, [], known((7, "NODE_FAIL"), (7, "PENDING")), LOST),
        (ONCE, [], known((7, "PREEMPTED"), (7, "CANCELLED")), SETTLED),
        # Written down and not acknowledged.
        (job((1, 0, JUST_NOW)), [], None, BUSY),
        (job((1, 0, LONG_AGO)), [], None, UNSURE),
        (job((1, 0, LONG_AGO)), [], [], LOST),
        (job((1, 0, LONG_AGO)), known((7, "PENDING")), None, BUSY),
        (job((1, 0, LONG_AGO)), [], known((7, "CANCELLED")), SETTLED),
        # Sent again: what becomes of the first copy says nothing about the second.
        (TWICE, known((7, "COMPLETED"), (9, "PENDING")), None, BUSY),
        (TWICE, known((7, "COMPLETED")), None, UNSURE),
        (TWICE, known((7, "COMPLETED")), [], LOST),
        (TWICE, known((7, "RUNNING")), known((7, "COMPLETED")), LOST),
        (TWICE, known((9, "FAILED")), None, SETTLED),
        (job((1, 7, LONG_AGO), (2, 0, JUST_NOW)), known((7, "COMPLETED")), None, BUSY),
        (job((1, 7, LONG_AGO), (2, 0, LONG_AGO)), known((7, "COMPLETED")), [], LOST),
    ],
)
def test_a_job_is_judged(entry: Entry, queue: list[Known], history: list[Known] | None, decision: Decision) -> None:
    assert decide(entry, queue, history, NOW) == decision


def sweep(ended: dict[int | None, int], *submissions: tuple[int, int, int, tuple[int, ...]]) -> Entry:
    return Entry("t", tuple(Submission(*submission) for submission in submissions), ended)


def test_of_a_sweep_only_the_trials_that_nobody_runs_are_lost() -> None:
    entry = sweep({0: 0, 1: 1}, (1, 7, LONG_AGO, (0, 1, 2, 3, 4)))
    queue = [Known(7, 2, "RUNNING")]
    assert decide(entry, queue, None, NOW).unsure
    assert decide(entry, queue, [Known(7, 3, "CANCELLED")], NOW) == Decision(lost=(4,))


def test_a_trial_that_was_sent_again_is_judged_by_its_latest_job_alone() -> None:
    entry = sweep({0: 0}, (1, 7, LONG_AGO, (0, 1, 2)), (2, 9, LONG_AGO, (1,)))
    queue = [Known(7, 1, "COMPLETED"), Known(7, 2, "RUNNING"), Known(9, 1, "PENDING")]
    assert decide(entry, queue, None, NOW) == BUSY
    assert decide(entry, [Known(7, 1, "COMPLETED"), Known(7, 2, "FAILED")], [], NOW) == Decision(lost=(1,))


def test_a_sweep_is_settled_when_all_its_trials_are() -> None:
    entry = sweep({0: 0, 2: 1}, (1, 7, LONG_AGO, (0, 1, 2)))
    assert decide(entry, [Known(7, 1, "RUNNING")], None, NOW) == BUSY
    assert decide(entry, [Known(7, 1, "TIMEOUT")], None, NOW) == SETTLED


def test_whatever_slurm_says_nothing_is_both_lost_and_settled_and_what_ended_is_never_lost() -> None:
    states = (None, "PENDING", "RUNNING", "COMPLETED", "NODE_FAIL")
    ends: tuple[dict[int | None, int], ...] = ({}, {0: 0}, {1: 3}, {0: 0, 1: 0})
    for ended, first, second, later, when, asks in itertools.product(
        ends, states, states, states, (LONG_AGO, JUST_NOW), (True, False)
    ):
        entry = sweep(ended, (1, 7, LONG_AGO, (0, 1)), (2, 0, when, (1,)))
        queue = [Known(7, 0, first)] if first else []
        queue += [Known(7, 1, second)] if second else []
        history = [Known(7, 0, later)] if later else []
        found = decide(entry, queue, history if asks else None, NOW)
        assert not (found.settled and (found.lost or found.unsure))
        assert not set(found.lost) & set(ended)
        assert asks or not found.lost
        assert not (asks and found.unsure)


def test_a_job_whose_sender_died_gets_its_number_from_the_queue() -> None:
    assert unacknowledged(job((1, 0, LONG_AGO)), known((7, "PENDING"))) == {1: 7}
    assert unacknowledged(job((1, 7, LONG_AGO), (2, 0, LONG_AGO)), known((7, "COMPLETED"), (9, "PENDING"))) == {2: 9}


def test_numbers_that_are_written_down_are_left_alone() -> None:
    assert unacknowledged(ONCE, known((7, "PENDING"), (8, "PENDING"))) == {}
    assert unacknowledged(job((1, 7, LONG_AGO), (2, 0, LONG_AGO)), known((7, "COMPLETED"))) == {}
    assert unacknowledged(job((1, 0, LONG_AGO)), []) == {}


def test_an_attempts_later_line_has_its_number() -> None:
    text = "1 0 100 0-3\n1 7 101 0-3\n2 0 200 1,3\n"
    assert parse_submissions(text) == (Submission(1, 7, 101, (0, 1, 2, 3)), Submission(2, 0, 200, (1, 3)))


@pytest.mark.parametrize(
    "torn", ["2", "2 0", "2 0 200", "2 0 200 ", "2 0 200 1-", "2 0 200 1-x\n", "x y z -\n", "\0\0\0"]
)
def test_a_line_that_was_cut_off_counts_as_not_written(torn: str) -> None:
    assert parse_submissions(f"1 7 100 -\n{torn}") == (Submission(1, 7, 100, (None,)),)


def test_a_line_without_its_end_may_lack_some_of_its_trials() -> None:
    assert parse_submissions("1 7 100 0-9\n2 8 200 0-1") == (Submission(1, 7, 100, tuple(range(10))),)


def test_a_sweep_that_was_cancelled_before_it_started_is_not_sent_again() -> None:
    sweep = Entry("t", (Submission(1, 7, LONG_AGO, (0, 1, 2)),), {})
    # The queue's word for the whole array, which the accounting may not have heard of yet.
    assert decide(sweep, known((7, "CANCELLED")), [Known(7, 0, "PENDING")], NOW) == SETTLED
    assert decide(sweep, [], [Known(7, trial, "CANCELLED") for trial in range(3)], NOW) == SETTLED
    assert decide(sweep, [], [Known(7, 0, "CANCELLED")], NOW).lost == (1, 2)
