"""A job's output on the terminal."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.unit.jobs.bench import TOKEN, desk_in, says, written_down

from corral.cli.output import show
from corral.jobs.outcome import Unit


def test_output_is_passed_on_byte_for_byte_and_the_exit_code_is_the_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    says(monkeypatch, tmp_path, squeue="")
    desk = desk_in(tmp_path)
    folder = written_down(desk)
    content = bytes(range(256)) + b"\r 50%\r100%\n\xff"
    (folder / "log").write_bytes(content)
    (folder / "ended").write_text("3\n")
    assert asyncio.run(show(desk, Unit(desk.home.job(TOKEN)))) == 3
    assert capfdbinary.readouterr() == (content, b"")


def test_a_job_that_slurm_ended_says_so_and_where_to_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    desk = desk_in(tmp_path)
    folder = written_down(desk)
    says(monkeypatch, tmp_path, squeue="", sacct=f"41\x1fOUT_OF_MEMORY\x1f0:125\x1f{folder}\n")
    assert asyncio.run(show(desk, Unit(desk.home.job(TOKEN)))) == 137
    assert "job 41: out_of_memory. Try: corral why 41" in capfd.readouterr().err
