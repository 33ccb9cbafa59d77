"""What folders and Slurm's listings tell of submissions."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from tests.unit.jobs.bench import ME, TOKEN, asked, desk_in, says, written_down

from corral.jobs.desk import Desk
from corral.jobs.knowledge import in_history, in_queue, read_entries
from corral.jobs.ledger import Known, Submission

OTHER = "260101-120000-wxyz"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return desk_in(tmp_path)


def listed(*rows: tuple[str, ...]) -> str:
    return "".join("\x1f".join(row) + "\n" for row in rows)


def test_entries_hold_what_was_sent_and_how_units_ended(desk: Desk) -> None:
    folder = written_down(desk, TOKEN, "1 7 100 0-2\n")
    for trial, code in ((0, 0), (2, 3)):
        (folder / "trials" / str(trial)).mkdir(parents=True)
        (folder / "trials" / str(trial) / "ended").write_text(f"{code}\n")
    (written_down(desk, OTHER, "1 8 100 -\n") / "ended").write_text("1\n")
    first, second = asyncio.run(read_entries(desk, [TOKEN, OTHER]))
    assert (first.token, first.submissions) == (TOKEN, (Submission(1, 7, 100, (0, 1, 2)),))
    assert first.ended == {0: 0, 2: 3}
    assert second.ended == {None: 1}


def test_folders_that_are_gone_or_in_disorder_are_left_out(desk: Desk) -> None:
    written_down(desk, OTHER, "nonsense\n")
    folder = written_down(desk, TOKEN)
    (folder / "ended").write_text("who knows\n")
    (folder / "trials" / "x").mkdir(parents=True)
    (folder / "trials" / "x" / "ended").write_text("0\n")
    (entry,) = asyncio.run(read_entries(desk, ["260101-120000-gone", OTHER, TOKEN]))
    assert (entry.token, entry.ended) == (TOKEN, {})


def test_the_queue_is_read_by_work_folder_and_knows_other_peoples_jobs_not(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = desk.home.path
    rows = [
        ("7", "RUNNING", "", f"{home}/{TOKEN}"),
        ("8_3", "PENDING", "", f"{home}/{OTHER}"),
        ("9", "RUNNING", "", "/home/somebody"),
        ("10", "RUNNING", "", f"{home}/{TOKEN}/work"),
        ("11+0", "RUNNING", "", f"{home}/{TOKEN}"),
        ("13_[1-9...]", "PENDING", "", f"{home}/{TOKEN}"),
        ("12", "RUNNING", "", "/home/two\nlines\u2028and more"),
    ]
    says(monkeypatch, tmp_path, squeue=listed(*rows))
    assert asyncio.run(in_queue(desk)) == {TOKEN: [Known(7, None, "RUNNING")], OTHER: [Known(8, 3, "PENDING")]}
    assert f"-u {ME}" in asked(tmp_path, "squeue")[0]


def test_the_accounting_is_asked_once_since_the_first_was_sent(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        ("7", "CANCELLED by 1000", "0:15", f"{desk.home.path}/{TOKEN}"),
        ("8_[4-6,9%2]", "CANCELLED by 1000", "0:0", f"{desk.home.path}/{OTHER}"),
        ("8_3", "FAILED", "2:0", f"{desk.home.path}/{OTHER}"),
    ]
    says(monkeypatch, tmp_path, sacct=listed(*rows))
    written_down(desk, TOKEN, "1 7 1000000 -\n")
    written_down(desk, OTHER, "1 8 900000 3-9\n2 9 950000 3\n")
    found = asyncio.run(in_history(desk, asyncio.run(read_entries(desk, [TOKEN, OTHER]))))
    never_started = [Known(8, trial, "CANCELLED", "0:0") for trial in (4, 5, 6, 9)]
    assert found == {
        TOKEN: [Known(7, None, "CANCELLED", "0:15")],
        OTHER: [*never_started, Known(8, 3, "FAILED", "2:0")],
    }
    (call,) = asked(tmp_path, "sacct")
    assert time.strftime("-S %Y-%m-%dT%H:%M:%S ", time.gmtime(900_000 - 60)) in call


def test_of_a_job_that_was_requeued_only_what_became_of_it_since_counts(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = f"{desk.home.path}/{TOKEN}"
    says(monkeypatch, tmp_path, sacct=listed(("7", "REQUEUED", "0:0", where), ("7", "CANCELLED by 0", "0:0", where)))
    written_down(desk)
    found = asyncio.run(in_history(desk, asyncio.run(read_entries(desk, [TOKEN]))))
    assert [job.state for job in found[TOKEN]] == ["CANCELLED"]
