"""Sending again: a new attempt that shuts every older one out."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest
from tests.unit.jobs.bench import ME, TOKEN, Controller, desk_in, sent

from corral.errors import SlurmError, SlurmUnavailable
from corral.jobs.desk import Desk
from corral.jobs.ledger import parse_submissions
from corral.jobs.resend import resend

LONG_AGO = int(time.time()) - 3600


@pytest.fixture
def controller() -> Controller:
    return Controller()


@pytest.fixture
def desk(tmp_path: Path, controller: Controller) -> Desk:
    return desk_in(tmp_path, controller)


def test_resending_shuts_older_attempts_out_before_slurm_is_told(desk: Desk, controller: Controller) -> None:
    folder = sent(desk, f"1 7 {LONG_AGO} -\n")
    (folder / "ended").write_text("1\n")
    assert asyncio.run(resend(desk, desk.home.job(TOKEN), 2, [None])) == 41
    assert (folder / "attempt").read_text() == "2\n"
    # It may have ended while it was thought to be lost: then it must not run again.
    assert (folder / "ended").exists()
    (description,) = controller.taken
    assert description.environment == {"USER": ME, "CORRAL_ATTEMPT": "2"}
    assert description.dependency == ""
    assert description.script == (folder / "batch.sh").read_text()
    assert [one.job_id for one in parse_submissions((folder / "submitted").read_text())] == [7, 41]


def test_what_has_ended_runs_again_when_that_is_asked_for(desk: Desk) -> None:
    folder = sent(desk, f"1 7 {LONG_AGO} -\n")
    (folder / "ended").write_text("1\n")
    asyncio.run(resend(desk, desk.home.job(TOKEN), 2, [None], anew=True))
    assert not (folder / "ended").exists()


def test_resending_some_trials_leaves_the_others_alone_and_keeps_the_limit(desk: Desk, controller: Controller) -> None:
    folder = sent(desk, f"1 7 {LONG_AGO} 0-9\n", array="0-9%3")
    asyncio.run(resend(desk, desk.home.job(TOKEN), 2, [4, 5, 8]))
    assert controller.taken[0].array == "4-5,8%3"
    assert sorted(path.parent.name for path in folder.glob("trials/*/attempt")) == ["4", "5", "8"]
    assert not (folder / "attempt").exists()
    assert parse_submissions((folder / "submitted").read_text())[1].units == (4, 5, 8)


def test_resending_while_the_controller_is_away_leaves_the_intent(desk: Desk, controller: Controller) -> None:
    folder = sent(desk, f"1 7 {LONG_AGO} -\n")
    controller.problem = SlurmUnavailable("silent")
    with pytest.raises(SlurmUnavailable):
        asyncio.run(resend(desk, desk.home.job(TOKEN), 2, [None]))
    assert (folder / "attempt").read_text() == "2\n"
    assert parse_submissions((folder / "submitted").read_text())[-1].job_id == 0


def test_of_two_who_send_the_same_again_at_once_one_does(desk: Desk, controller: Controller) -> None:
    folder = sent(desk, f"1 7 {LONG_AGO} 0-9\n", array="0-9")

    async def both() -> list[int | BaseException]:
        twice = (resend(desk, desk.home.job(TOKEN), 2, [4, 5]) for _ in range(2))
        return list(await asyncio.gather(*twice, return_exceptions=True))

    found = asyncio.run(both())
    assert sorted(type(one).__name__ for one in found) == ["SlurmError", "int"]
    assert "sent again already" in " ".join(map(str, found))
    assert len(controller.taken) == 1
    assert len(parse_submissions((folder / "submitted").read_text())) == 2
    assert not (folder / ".sending").exists()


def test_one_who_died_while_sending_again_holds_nobody_up_for_long(desk: Desk, controller: Controller) -> None:
    folder = sent(desk, f"1 7 {LONG_AGO} -\n")
    (folder / ".sending").mkdir()
    os.utime(folder / ".sending", (LONG_AGO, LONG_AGO))
    with pytest.raises(SlurmError, match="being sent again already"):
        asyncio.run(resend(desk, desk.home.job(TOKEN), 2, [None]))
    assert asyncio.run(resend(desk, desk.home.job(TOKEN), 2, [None])) == 41
