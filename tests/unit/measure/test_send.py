"""A gauge as a job: real folders and a real shell, a stand-in for the controller that runs it at once."""

from __future__ import annotations

import asyncio
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.unit.jobs.bench import Controller, desk_in, program, says
from tests.unit.jobs.test_submit import SINFO

from corral.errors import InputError, SlurmUnavailable
from corral.jobs.request import Resources
from corral.measure.records import Record
from corral.measure.send import GaugeFailed, gauge
from corral.slurm.description import JobDescription


@dataclass
class Runs(Controller):
    """Takes a job, and ends it with prepared output and exit code."""

    output: str = ""
    exit_code: int = 0

    async def submit(self, description: JobDescription) -> int:
        number = await super().submit(description)
        folder = Path(description.folder)
        (folder / "log").write_text(self.output)
        (folder / "ended").write_text(f"{self.exit_code}\n")
        return number


def heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, controller: Controller) -> tuple[list[Record], list[str]]:
    says(monkeypatch, tmp_path, squeue="", sacct="")
    program(tmp_path / "bin", "sinfo", SINFO)
    notices: list[str] = []

    async def listen() -> list[Record]:
        desk = desk_in(tmp_path, controller)
        told = gauge(
            desk, "corral.gauges.storage", ["/shared"], Resources(), "", ddp=False, notice=notices.append
        )  # fmt: skip
        return [record async for record in told]

    return asyncio.run(listen()), notices


def test_records_come_and_everything_else_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    controller = Runs(output='a warning\n[0] corral-gauge {"kind": "setup"}\ncorral-gauge {"kind": "row"}\n')
    records, notices = heard(tmp_path, monkeypatch, controller)
    assert records == [{"kind": "setup"}, {"kind": "row"}]
    assert notices == ["job 41 on 1 node"]
    assert "python3 -m corral.gauges.storage /shared" in controller.taken[0].script


def test_a_gauge_that_fails_is_an_error_with_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(GaugeFailed) as failed:
        heard(tmp_path, monkeypatch, Runs(output="Traceback\nOSError: disk full\n", exit_code=1))
    assert str(failed.value).splitlines() == [
        *("job 41 failed (exit code 1). Try: corral logs 41", "Traceback", "OSError: disk full")
    ]


def test_an_environment_without_torch_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The very words of the launcher, so that both stay the same.
    said = subprocess.run(
        ["python3", "-S", "-m", "corral.inside.torchrun", "true"],
        env={"PYTHONPATH": str(Path(__file__).parents[3] / "src"), "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=False,
    ).stderr  # fmt: skip
    with pytest.raises(InputError, match="has no PyTorch"):
        heard(tmp_path, monkeypatch, Runs(output=said, exit_code=127))


def test_without_a_controller_nothing_is_left_to_be_run_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SlurmUnavailable, match="controller does not answer"):
        heard(tmp_path, monkeypatch, Controller(SlurmUnavailable("away")))
    assert [path for path in (tmp_path / "jobs").rglob("*") if path.is_file()] == []
