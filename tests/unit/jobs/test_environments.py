"""What --env may name, looked up by a real shell in real folders."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest
from tests.unit.jobs.bench import ME

from corral.errors import InputError
from corral.hosts.shell import LocalShell
from corral.jobs import environments
from corral.jobs.request import Environment


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def look(name: str) -> Environment:
    done = asyncio.run(LocalShell(ME).run(environments.look_script(name)))
    return environments.found(name, done.stdout)


def venv(path: Path) -> Path:
    path.mkdir(parents=True)
    (path / "pyvenv.cfg").touch()
    return path


def conda(path: Path) -> Path:
    (path / "conda-meta").mkdir(parents=True)
    return path


def test_no_name_is_the_nodes_own_system() -> None:
    assert look("") == Environment("system")


def test_a_virtual_environment_is_found_by_its_path_or_from_home(home: Path) -> None:
    made = venv(home / "my envs" / "it's torch")
    assert look(str(made)) == Environment("venv", str(made))
    assert look("my envs/it's torch") == Environment("venv", str(made))


def test_a_conda_environment_is_found_by_its_path_or_its_name(home: Path) -> None:
    made = conda(home / "conda" / "envs" / "torch")
    (home / ".conda").mkdir()
    (home / ".conda" / "environments.txt").write_text(f"/gone/envs/torch\n{home}/conda\n{made}\n")
    assert look(str(made)) == Environment("conda", str(made))
    assert look("torch") == Environment("conda", str(made))


@pytest.mark.parametrize("name", ["missing", "/missing/env", "orch", "$(touch hit)", "-x", "a\nb"])
def test_a_name_that_stands_for_nothing_is_refused_with_what_could_be_written(home: Path, name: str) -> None:
    made = conda(home / "conda" / "envs" / "torch")
    (home / ".conda").mkdir()
    (home / ".conda" / "environments.txt").write_text(f"{made}\n")
    with pytest.raises(InputError, match="Write the path of one that all nodes see") as refused:
        look(name)
    assert f"--env {name}: " in str(refused.value)
    assert not (home / "hit").exists()


def test_a_folder_that_is_no_environment_is_refused(home: Path) -> None:
    (home / "plain").mkdir()
    with pytest.raises(InputError):
        look("plain")


@pytest.mark.parametrize("name", ["docker://pytorch/pytorch:2.4", "/images/a b.sqsh", "torch.sif", "oras://x/y"])
def test_an_image_is_known_by_its_name_without_asking_the_cluster(name: str) -> None:
    assert environments.look_script(name) == ""
    assert environments.found(name, "") == Environment("container", name)


def test_only_the_system_lacks_a_plain_python() -> None:
    assert environments.python(Environment()) == "python3"
    assert environments.python(Environment("venv", "/env")) == "python"


def test_a_conda_environments_own_activation_scripts_are_run(home: Path) -> None:
    made = conda(home / "with space")
    (made / "etc/conda/activate.d").mkdir(parents=True)
    (made / "etc/conda/activate.d/libs.sh").write_text("export FROM_CONDA=yes\n")
    lines = environments.enter(Environment("conda", str(made)))
    said = subprocess.check_output(["bash", "-c", "\n".join([*lines, 'echo "$FROM_CONDA $CONDA_PREFIX $PATH"'])])
    assert said.decode().startswith(f"yes {made} {made}/bin:")


def test_a_virtual_environments_programs_come_first(home: Path) -> None:
    made = venv(home / "with space")
    lines = environments.enter(Environment("venv", str(made)))
    said = subprocess.check_output(["bash", "-c", "\n".join([*lines, 'echo "$VIRTUAL_ENV $PATH"'])])
    assert said.decode().startswith(f"{made} {made}/bin:")
