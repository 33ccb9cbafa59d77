"""`corral run`, from the words on the command line to the exit code."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.unit.api.site import NODES, PARTITIONS
from tests.unit.jobs.bench import Controller, desk_in, program, says

from corral.cli import run as command
from corral.cli.main import main
from corral.errors import SlurmUnavailable
from corral.jobs.desk import Desk
from corral.slurm.description import JobDescription


class Prompt(Controller):
    """Runs a job the moment that it takes it."""

    async def submit(self, description: JobDescription) -> int:
        number = await super().submit(description)
        Path(description.folder, "log").write_text("hello from the job\n")
        Path(description.folder, "ended").write_text("3\n")
        return number


@pytest.fixture
def controller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Controller:
    made = Prompt()

    @asynccontextmanager
    async def open_desk(cluster: str | None, user: str | None) -> AsyncIterator[Desk]:
        yield desk_in(tmp_path, made)

    says(monkeypatch, tmp_path, squeue="", sacct="")
    program(tmp_path / "bin", "sinfo", f"case $* in *-N*) printf '{NODES}';; *) printf '{PARTITIONS}';; esac")
    monkeypatch.setattr(command, "open_desk", open_desk)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    Path("train.py").touch()
    return made


def corral(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["corral", "run", *words])
    with pytest.raises(SystemExit) as left:
        main()
    return int(left.value.code or 0)


def test_a_job_is_followed_and_its_code_is_the_commands(
    controller: Controller, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert corral(monkeypatch, "--gpus", "2", "train.py", "--lr", "1", "-x", "--gpus") == 3
    said = capfd.readouterr()
    assert said.out == "hello from the job\n"
    assert "job 41 train: 2 GPUs, 8 CPUs, 15.6 GiB" in said.err
    assert controller.taken[0].script.count("python3 train.py --lr 1 -x --gpus\n") == 1


def test_a_dry_run_prints_exactly_the_script_and_changes_nothing(
    controller: Controller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert corral(monkeypatch, "--dry-run", "--time", "2h", "train.py") == 0
    said = capfd.readouterr()
    assert said.out.startswith("#!/bin/bash\n#SBATCH --job-name=train\n")
    assert "#SBATCH --time=120\n" in said.out
    assert said.err == ""
    assert [path.name for path in (tmp_path / "jobs").iterdir()] == [".open"]


def test_detached_it_prints_the_number_for_scripts_to_use(
    controller: Controller, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert corral(monkeypatch, "--detach", "--no-folder", "hostname") == 0
    assert capfd.readouterr().out == "41\n"


def test_a_controller_that_is_away_is_said_and_the_job_has_a_token_instead_of_a_number(
    controller: Controller, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    controller.problem = SlurmUnavailable("silent")
    assert corral(monkeypatch, "--detach", "train.py") == 0
    said = capfd.readouterr()
    (mark,) = (tmp_path / "jobs" / ".open").iterdir()
    assert mark.name.endswith(said.out.strip())
    assert "will be sent when it is back" in " ".join(said.err.split())


def test_a_name_that_looks_like_markup_is_shown_as_it_is(
    controller: Controller, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert corral(monkeypatch, "--detach", "--name", "a [red]b[/c]", "train.py") == 0
    assert "job 41 a [red]b[/c]: " in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--gpus", "lots?", "train.py"], "--gpus lots?: write a number"),
        (["--gpus", "3", "train.py"], "the most GPUs that one has is 2"),
        (["--mem", "much", "train.py"], "--mem much: write a size"),
        (["--time", "soon", "train.py"], "--time soon: write a time"),
        (["--partition", "fast", "train.py"], "there is no partition 'fast'; there are: main"),
        (["--env", "nowhere", "train.py"], "--env nowhere: there is no virtual environment"),
        (["--nodes", "0", "train.py"], "--nodes"),
        (["missing.py"], "missing.py cannot be run: there is none"),
    ],
)
def test_bad_input_is_one_clear_error_and_nothing_is_sent(
    controller: Controller,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    assert corral(monkeypatch, *words) == 2
    assert message in " ".join(capfd.readouterr().err.split())
    assert controller.taken == []
