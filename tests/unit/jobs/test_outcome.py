"""How units ended, and what a shell would see of it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from tests.unit.jobs.bench import TOKEN, asked, desk_in, says, written_down

from corral.jobs.desk import Desk
from corral.jobs.outcome import End, Unit, outcomes

NOW = int(time.time())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return desk_in(tmp_path)


def ends(desk: Desk, *trials: int | None) -> dict[int | None, End]:
    units = [Unit(desk.home.job(TOKEN), trial) for trial in trials or (None,)]
    return {unit.trial: end for unit, end in asyncio.run(outcomes(desk, units)).items()}


def row(label: str, state: str, folder: Path, code: str = "") -> str:
    return f"{label}\x1f{state}\x1f{code}\x1f{folder}\n"


def test_a_units_own_record_is_the_last_word_and_nobody_else_is_asked(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(monkeypatch, tmp_path, squeue="", sacct="")
    (written_down(desk) / "ended").write_text("7\n")
    assert ends(desk) == {None: End("FAILED", 7, "41")}
    assert asked(tmp_path, "squeue") == []


@pytest.mark.parametrize(
    ("state", "code", "exit_code"),
    [
        ("TIMEOUT", "0:0", 124),
        ("DEADLINE", "0:0", 124),
        ("OUT_OF_MEMORY", "0:125", 137),
        ("CANCELLED", "0:15", 130),
        ("COMPLETED", "0:0", 0),
        ("FAILED", "3:0", 3),
        ("FAILED", "0:9", 137),
        ("FAILED", "0:11", 139),
        ("NODE_FAIL", "0:0", 1),
        ("NODE_FAIL", "", 1),
        ("BOOT_FAIL", "1:0", 1),
    ],
)
@pytest.mark.parametrize("queue_remembers", [True, False])
def test_one_without_a_record_ended_by_slurms_word(
    desk: Desk,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    state: str,
    code: str,
    exit_code: int,
    queue_remembers: bool,
) -> None:
    folder = written_down(desk)
    queue = row("41", state, folder) if queue_remembers else ""
    says(monkeypatch, tmp_path, squeue=queue, sacct=row("41", state, folder, code))
    assert ends(desk) == {None: End(state, exit_code, "41")}


@pytest.mark.parametrize("state", ["PENDING", "RUNNING", "COMPLETING"])
def test_one_that_goes_on_has_not_ended(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    folder = written_down(desk)
    says(monkeypatch, tmp_path, squeue=row("41", state, folder), sacct="")
    assert ends(desk) == {}
    assert asked(tmp_path, "sacct") == []


@pytest.mark.parametrize("history", ["", "RUNNING", "REQUEUED"])
def test_one_that_slurm_lost_has_not_ended_because_it_is_sent_again(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, history: str
) -> None:
    folder = written_down(desk)
    says(monkeypatch, tmp_path, squeue="", sacct=row("41", history, folder, "0:0") if history else "")
    assert ends(desk) == {}


def test_a_copy_that_was_replaced_says_nothing_about_the_job(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written_down(desk, TOKEN, f"1 7 {NOW} -\n2 9 {NOW} -\n")
    says(monkeypatch, tmp_path, squeue=row("7", "COMPLETED", folder) + row("9", "RUNNING", folder), sacct="")
    assert ends(desk) == {}
    says(monkeypatch, tmp_path, squeue="", sacct=row("7", "COMPLETED", folder, "0:0"))
    assert ends(desk) == {}


def test_a_requeued_job_ended_as_its_last_run_did(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = written_down(desk)
    records = [("REQUEUED", "0:0"), ("PREEMPTED", "0:0"), ("FAILED", "5:0")]
    says(monkeypatch, tmp_path, squeue="", sacct="".join(row("41", state, folder, code) for state, code in records))
    assert ends(desk) == {None: End("FAILED", 5, "41")}


def test_many_trials_are_asked_for_together(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = written_down(desk, TOKEN, f"1 7 {NOW} 0-99\n")
    for trial in range(50):
        (folder / "trials" / str(trial)).mkdir(parents=True)
        (folder / "trials" / str(trial) / "ended").write_text("0\n")
    says(monkeypatch, tmp_path, squeue=row("7_98", "RUNNING", folder), sacct=row("7_99", "TIMEOUT", folder, "0:0"))
    found = ends(desk, *range(100))
    assert set(found) == {*range(50), 99}
    assert found[99] == End("TIMEOUT", 124, "7_99")
    assert (len(asked(tmp_path, "squeue")), len(asked(tmp_path, "sacct"))) == (1, 1)


def test_a_unit_whose_folder_was_removed_is_over_and_the_others_are_not_disturbed(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (written_down(desk) / "ended").write_text("0\n")
    gone = Unit(desk.home.job("260101-120000-gone"))
    found = asyncio.run(outcomes(desk, [gone, Unit(desk.home.job(TOKEN))]))
    assert [end.state for end in found.values()] == ["REMOVED", "COMPLETED"]
