"""Who failed, from what ranks leave behind."""

from __future__ import annotations

from pathlib import Path

from corral.inside.verdict import failed_rank

BROKEN = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\nValueError: bad data\n'
LOST = (
    "[rank0]: Traceback (most recent call last):\n"
    '[rank0]:   File "train.py", line 9, in <module>\n'
    "[rank0]: RuntimeError: [../gloo/pair.cc:534] Connection closed by peer [10.0.0.2]:4242\n"
)


def leave(unit: Path, rank: int, code: int, at: str, log: str = "") -> None:
    (unit / "ranks").mkdir(exist_ok=True)
    (unit / f"ranks/{rank}.exit").write_text(f"{code} {at}\n")
    (unit / f"ranks/{rank}.log").write_text(f"corral: rank {rank} started on node{rank}\n{log}")


def test_the_rank_that_failed_first_is_named_with_its_traceback(tmp_path: Path) -> None:
    leave(tmp_path, 0, 143, "100.000000001")
    leave(tmp_path, 1, 1, "100.000000005", "step 1\n" + BROKEN)
    leave(tmp_path, 2, 1, "100.000000006", "Traceback (most recent call last):\nKeyError: 1\n")
    failure = failed_rank(tmp_path)
    assert failure is not None
    assert (failure.rank, failure.code, failure.words + "\n") == (1, 1, BROKEN)


def test_ranks_that_lost_a_peer_are_not_blamed_even_if_they_ended_first(tmp_path: Path) -> None:
    leave(tmp_path, 0, 1, "100.000000001", LOST)
    leave(tmp_path, 1, 1, "101.000000000", BROKEN)
    failure = failed_rank(tmp_path)
    assert failure is not None
    assert failure.rank == 1


def test_a_traceback_is_shown_without_what_torch_writes_before_each_line(tmp_path: Path) -> None:
    leave(tmp_path, 0, 1, "100.0", "[rank0]: " + "[rank0]: ".join(BROKEN.splitlines(keepends=True)))
    failure = failed_rank(tmp_path)
    assert failure is not None
    assert failure.words + "\n" == BROKEN


def test_chained_tracebacks_stay_together(tmp_path: Path) -> None:
    chained = BROKEN + "\nThe above exception was the direct cause of the following exception:\n\n" + BROKEN
    leave(tmp_path, 0, 1, "100.0", BROKEN.replace("ValueError", "OldError") + "retrying\n" + chained)
    failure = failed_rank(tmp_path)
    assert failure is not None
    assert failure.words + "\n" == chained


def test_without_a_traceback_the_last_lines_of_this_run_are_shown(tmp_path: Path) -> None:
    leave(tmp_path, 0, 139, "100.0", BROKEN + "corral: rank 0 started on node1\nstep 1\nstep 2\n")
    failure = failed_rank(tmp_path)
    assert failure is not None
    assert (failure.code, failure.words) == (139, "step 1\nstep 2")


def test_nobody_is_blamed_if_all_went_well_or_were_ended_from_outside(tmp_path: Path) -> None:
    assert failed_rank(tmp_path) is None
    leave(tmp_path, 0, 85, "100.0")
    leave(tmp_path, 1, 143, "100.0", BROKEN)
    leave(tmp_path, 2, 0, "100.0")
    assert failed_rank(tmp_path) is None
