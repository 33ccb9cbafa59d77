"""Watching a unit: its output by position, and its end by its own record or by Slurm's word."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from tests.unit.jobs.bench import TOKEN, asked, desk_in, says, written_down

from corral.errors import SlurmError
from corral.jobs import follow
from corral.jobs.desk import Desk
from corral.jobs.follow import Glance, Watcher
from corral.jobs.outcome import End, Unit


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    says(monkeypatch, tmp_path, squeue="RUNNING None\n", sacct="")
    return desk_in(tmp_path)


@pytest.fixture
def folder(desk: Desk) -> Path:
    return written_down(desk, TOKEN, f"1 0 {int(time.time())} -\n1 41 {int(time.time())} -\n")


def unit(desk: Desk, trial: int | None = None) -> Unit:
    return Unit(desk.home.job(TOKEN), trial)


def glances(watcher: Watcher, count: int) -> list[Glance]:
    async def look() -> list[Glance]:
        return [await watcher.glance() for _ in range(count)]

    return asyncio.run(look())


def test_output_comes_in_pieces_that_join_to_the_very_bytes(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "_CHUNK", 1000)
    content = bytes(range(256)) * 9 + "ü→😀\n".encode() + b"\xff\xfe\r\n\0 no end"
    (folder / "log").write_bytes(content)
    watcher = Watcher(desk, unit(desk))
    assert b"".join(glance.output for glance in glances(watcher, 4)) == content
    with (folder / "log").open("ab") as log:
        log.write(b"and more")
    assert [glance.output for glance in glances(watcher, 2)] == [b"and more", b""]


def test_a_unit_that_has_printed_nothing_yet_has_no_output(desk: Desk, folder: Path) -> None:
    (glance,) = glances(Watcher(desk, unit(desk)), 1)
    assert glance == Glance(b"", "RUNNING None")


def test_the_end_comes_after_all_output(desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "_CHUNK", 10)
    (folder / "log").write_bytes(b"x" * 25)
    (folder / "ended").write_text("3\n")
    found = glances(Watcher(desk, unit(desk)), 3)
    assert [glance.end for glance in found] == [None, None, End("FAILED", 3, "41")]


def test_slurm_is_asked_only_now_and_then(desk: Desk, folder: Path, tmp_path: Path) -> None:
    glances(Watcher(desk, unit(desk)), 4)
    assert len(asked(tmp_path, "squeue")) == 1


def test_a_unit_that_was_killed_ends_by_slurms_word(
    desk: Desk, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One program, two listings: that of the one job, and that of all the person's.
    listing = f"case $* in *-u*) printf '41\\037TIMEOUT\\037\\037{folder}\\n';; *) echo TIMEOUT TimeLimit;; esac"
    (tmp_path / "bin" / "squeue").write_text(f"#!/bin/sh\n{listing}\n")
    says(monkeypatch, tmp_path, sacct=f"41\x1fTIMEOUT\x1f0:0\x1f{folder}\n")
    (glance,) = glances(Watcher(desk, unit(desk)), 1)
    assert glance.end == End("TIMEOUT", 124, "41")


def test_a_trial_is_watched_by_its_own_number_and_files(desk: Desk, folder: Path, tmp_path: Path) -> None:
    (folder / "logs").mkdir()
    (folder / "logs/3.log").write_text("trial\n")
    (folder / "trials/3").mkdir(parents=True)
    (folder / "trials/3/ended").write_text("0\n")
    (glance,) = glances(Watcher(desk, unit(desk, 3)), 1)
    assert (glance.output, glance.end) == (b"trial\n", End("COMPLETED", 0, "41_3"))
    assert " 41_3 " in asked(tmp_path, "squeue")[0]


def test_one_rank_can_be_watched(desk: Desk, folder: Path) -> None:
    (folder / "ranks").mkdir()
    (folder / "ranks/2.log").write_text("rank 2\n")
    (folder / "log").write_text("everything\n")
    (glance,) = glances(Watcher(desk, unit(desk), rank=2), 1)
    assert glance.output == b"rank 2\n"


def test_a_job_that_was_not_taken_yet_has_not_ended(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written_down(desk, TOKEN, f"1 0 {int(time.time())} -\n")
    says(monkeypatch, tmp_path, squeue="")
    (glance,) = glances(Watcher(desk, unit(desk)), 1)
    assert glance.end is None


def test_a_folder_that_is_gone_is_an_error(desk: Desk) -> None:
    with pytest.raises(SlurmError, match=TOKEN):
        glances(Watcher(desk, unit(desk)), 1)


def test_following_ends_with_the_unit(desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "log").write_text("first\n")

    async def watch() -> tuple[bytes, End | None]:
        output, end = b"", None
        async for glance in follow.follow(desk, unit(desk)):
            if glance.output == b"first\n":
                (folder / "log").open("a").write("last\n")
                (folder / "ended").write_text("0\n")
            output, end = output + glance.output, glance.end
        return output, end

    assert asyncio.run(watch()) == (b"first\nlast\n", End("COMPLETED", 0, "41"))
