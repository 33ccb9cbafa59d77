"""The keeper's books: what was lost is sent again, once, and what is over is closed."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest
from tests.unit.jobs.bench import ME, TOKEN, Controller, asked, desk_in, says, sent, written_down

from corral.jobs import keeper
from corral.jobs.desk import Desk
from corral.jobs.keeper import Books, open_submissions
from corral.jobs.ledger import parse_submissions

LONG_AGO = int(time.time()) - 3600


@pytest.fixture
def controller() -> Controller:
    return Controller()


@pytest.fixture
def desk(tmp_path: Path, controller: Controller) -> Desk:
    return desk_in(tmp_path, controller)


def row(label: str, state: str, folder: Path, code: str = "") -> str:
    return f"{label}\x1f{state}\x1f{code}\x1f{folder}\n"


def balance(desk: Desk, *tokens: str) -> None:
    asyncio.run(Books(desk, tokens or (TOKEN,)).balance())


def is_open(desk: Desk, token: str = TOKEN) -> bool:
    return Path(desk.home.open_mark(token)).exists()


def test_only_marks_made_by_whom_they_name_count(desk: Desk) -> None:
    assert open_submissions(desk.site) == {}
    written_down(desk)
    folder = Path(desk.home.open_mark(TOKEN)).parent
    for name in ("daemon." + TOKEN, f"{ME}.junk", TOKEN, f".{TOKEN}", f"{ME}.{TOKEN}.x", f"{ME}.$(id)", f"{ME}."):
        (folder / name).touch()
    (folder / f"{ME}.260101-120000-dang").symlink_to("/nowhere")
    assert open_submissions(desk.site) == {ME: [TOKEN, "260101-120000-dang"]}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file somebody else's")
def test_a_mark_of_somebody_unknown_counts_for_nothing(desk: Desk) -> None:
    written_down(desk)
    os.chown(desk.home.open_mark(TOKEN), 54321, -1)
    assert open_submissions(desk.site) == {}


def test_a_mark_that_vanishes_while_it_is_looked_at_is_no_error(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    written_down(desk)
    mark = Path(desk.home.open_mark(TOKEN))
    listing = [mark.parent / f"{ME}.260101-120000-gone", mark]
    monkeypatch.setattr(Path, "iterdir", lambda _: iter(listing))
    assert open_submissions(desk.site) == {ME: [TOKEN]}


def test_a_job_that_slurm_forgot_is_sent_again_once(
    desk: Desk, controller: Controller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = sent(desk, f"1 7 {LONG_AGO} -\n")
    says(monkeypatch, tmp_path, squeue="", sacct=row("7", "RUNNING", folder))
    balance(desk)
    says(monkeypatch, tmp_path, squeue=row("41", "PENDING", folder))
    balance(desk)
    balance(desk)
    assert len(controller.taken) == 1
    assert is_open(desk)
    assert len(asked(tmp_path, "sacct")) == 1


def test_what_is_over_is_closed_and_the_accounting_is_asked_only_about_what_the_queue_forgot(
    desk: Desk, controller: Controller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, third = "260101-120000-bbbb", "260101-120000-cccc"
    (sent(desk, f"1 7 {LONG_AGO} -\n") / "ended").write_text("0\n")
    running = sent(desk, f"1 8 {LONG_AGO} -\n", token=other)
    cancelled = sent(desk, f"1 9 {LONG_AGO} -\n", token=third)
    says(monkeypatch, tmp_path, squeue=row("8", "RUNNING", running), sacct=row("9", "CANCELLED by 1", cancelled))
    balance(desk, TOKEN, other, third)
    assert [is_open(desk, token) for token in (TOKEN, other, third)] == [False, True, False]
    assert controller.taken == []


def test_a_job_whose_sender_died_after_slurm_took_it_gets_its_number_and_is_not_sent_again(
    desk: Desk, controller: Controller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = sent(desk, f"1 0 {LONG_AGO} 0-2\n", array="0-2")
    says(monkeypatch, tmp_path, squeue="".join(row(f"7_{trial}", "PENDING", folder) for trial in range(3)), sacct="")
    balance(desk)
    (submission,) = parse_submissions((folder / "submitted").read_text())
    assert (submission.job_id, submission.units) == (7, (0, 1, 2))
    assert controller.taken == []


def test_of_a_sweep_only_what_was_lost_is_sent_again(
    desk: Desk, controller: Controller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = sent(desk, f"1 7 {LONG_AGO} 0-4\n", array="0-4%2")
    (folder / "trials/0").mkdir(parents=True)
    (folder / "trials/0/ended").write_text("1\n")
    says(monkeypatch, tmp_path, squeue=row("7_1", "RUNNING", folder), sacct=row("7_2", "TIMEOUT", folder))
    balance(desk)
    assert [one.array for one in controller.taken] == ["3-4%2"]


def test_the_mark_of_a_folder_that_its_person_removed_is_closed(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written_down(desk)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    says(monkeypatch, tmp_path, squeue="")
    balance(desk)
    assert not is_open(desk)


def test_a_controller_that_is_away_changes_nothing(
    desk: Desk, controller: Controller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = sent(desk, f"1 7 {LONG_AGO} -\n")
    says(monkeypatch, tmp_path, squeue="", sacct="")
    (tmp_path / "bin" / "squeue").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(Exception, match="lab: "):
        balance(desk)
    assert controller.taken == []
    assert (folder / "submitted").read_text() == f"1 7 {LONG_AGO} -\n"


def test_one_persons_disorder_does_not_end_the_keeper(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    written_down(desk)

    class AnotherRound(Exception):
        pass

    async def disorder(self: Books) -> None:
        raise ValueError("nonsense")

    async def sleep(seconds: float) -> None:
        raise AnotherRound

    monkeypatch.setattr(Books, "balance", disorder)
    monkeypatch.setattr(keeper, "heartbeat", lambda: None)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    with pytest.raises(AnotherRound):
        asyncio.run(keeper.keep(desk.site))
