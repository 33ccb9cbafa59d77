"""From what a person says to a request."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from corral.errors import InputError
from corral.jobs.request import Environment
from corral.workflows.run import Ask, command_of, default_folder, default_name, snapshot_of

VENV = Environment("venv", "/env")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src/train.py").touch()
    (folder / "train.py").touch()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    ("words", "environment", "command"),
    [
        (("train.py", "--lr", "1"), Environment(), ("python3", "train.py", "--lr", "1")),
        (("train.py",), VENV, ("python", "train.py")),
        (("python3", "-m", "pkg"), VENV, ("python", "-m", "pkg")),
        (("python", "train.py"), Environment(), ("python3", "train.py")),
        (("nvidia-smi", "python3"), VENV, ("nvidia-smi", "python3")),
        (("./run.sh",), VENV, ("./run.sh",)),
    ],
)
def test_python_is_the_environments_and_all_else_stays(
    words: tuple[str, ...], environment: Environment, command: tuple[str, ...]
) -> None:
    assert command_of(words, environment) == command


def test_a_job_is_called_after_its_script() -> None:
    assert default_name(["src/train.py", "--lr", "1"]) == "train"
    assert default_name(["/usr/bin/nvidia-smi"]) == "nvidia-smi"
    assert default_name(["."]) == "job"


@pytest.mark.parametrize("script", ["train.py", "./train.py", "src/train.py", "src/../train.py"])
def test_a_script_of_the_folder_is_found_however_it_is_written(project: Path, script: str) -> None:
    snapshot = asyncio.run(snapshot_of(Ask((script,), folder=project)))
    assert snapshot is not None
    assert "train.py" in snapshot.files


@pytest.mark.parametrize(
    ("script", "why"),
    [("tarin.py", "there is none in"), ("secret.py", "it is ignored"), ("../other.py", "it is outside of")],
)
def test_a_script_that_the_job_would_not_find_is_refused_with_why(project: Path, script: str, why: str) -> None:
    (project / ".gitignore").write_text("secret.py\n")
    (project / "secret.py").touch()
    (project.parent / "other.py").touch()
    with pytest.raises(InputError) as refused:
        asyncio.run(snapshot_of(Ask((script,), folder=project)))
    assert str(refused.value).startswith(f"{script} cannot be run: {why}")


def test_a_script_on_shared_storage_needs_no_folder(project: Path) -> None:
    assert asyncio.run(snapshot_of(Ask(("/shared/train.py",), folder=None))) is None
    assert asyncio.run(snapshot_of(Ask(("/shared/train.py",), folder=project))) is not None


def test_the_working_folder_is_sent_along(project: Path) -> None:
    assert default_folder(["nvidia-smi"]) == project


@pytest.mark.parametrize("command", [["nvidia-smi"], ["/bin/true"], ["bash", "-c", "x" * 5000], ["cat", "a\0b"]])
def test_home_is_not_sent_along_with_a_command_that_names_nothing_in_it(
    project: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setenv("HOME", str(project))
    assert default_folder(command) is None


@pytest.mark.parametrize("command", [["train.py"], ["./train.py"], ["python3", "src/train.py"]])
def test_home_is_sent_along_with_a_script_that_lies_in_it(
    project: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setenv("HOME", str(project))
    assert default_folder(command) == project
