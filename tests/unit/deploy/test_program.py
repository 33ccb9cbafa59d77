"""Corral on a machine, whole or not at all: the step's own scripts run here, below a folder of the test."""

from __future__ import annotations

import asyncio
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import corral
from corral.deploy.program import Program, program
from corral.deploy.step import Change
from corral.deploy.steps.program import Shipment
from corral.hosts.base import Completed
from corral.hosts.local import LocalHost

pytestmark = pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="no Python of a distribution here")

OLD = Program({"lib/corral/__init__.py": b"OLD = 1\n", "lib/corral/gone.py": b"", "vendor/typer/__init__.py": b""})
NEW = Program({"lib/corral/__init__.py": b"NEW = 1\n", "vendor/typer/__init__.py": b""})


@dataclass(frozen=True)
class Machine:
    """A folder that stands for a machine's root."""

    root: Path

    @property
    def folder(self) -> Path:
        return self.root / "opt/corral"

    @property
    def command(self) -> Path:
        return self.root / "bin/corral"

    def needs(self, wanted: Program) -> Change | None:
        step = self._step(wanted)
        return step.diff(_run(step.probe()).stdout)

    def apply(self, change: Change | None) -> Completed:
        assert change is not None
        return _run(change.script, change.stdin)

    def bring(self, wanted: Program) -> None:
        done = self.apply(self.needs(wanted))
        assert done.ok, done
        assert self.needs(wanted) is None

    @property
    def versions(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir() if path.is_dir() and not path.is_symlink())

    def _step(self, wanted: Program) -> Shipment:
        return Shipment(wanted, str(self.folder), str(self.command))


def _run(script: str, stdin: bytes = b"") -> Completed:
    return asyncio.run(LocalHost().run(script, stdin=stdin))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "bin").mkdir()
    return Machine(tmp_path)


def test_the_whole_program_runs_by_the_machines_own_python_from_anywhere(machine: Machine, tmp_path: Path) -> None:
    machine.bring(program())
    # What lies in the current folder must not be taken for a library.
    (tmp_path / "typing.py").write_text("raise SystemExit('taken')")
    done = subprocess.run([machine.command, "version"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == f"corral {corral.__version__}\n", done.stderr
    assert [path for path in machine.folder.rglob("__pycache__/*.pyc") if path.name.startswith("main.")]


def test_a_change_of_version_leaves_nothing_of_the_old_one(machine: Machine) -> None:
    machine.bring(OLD)
    machine.bring(NEW)
    assert (machine.folder / "lib/corral/__init__.py").read_text() == "NEW = 1\n"
    assert not (machine.folder / "lib/corral/gone.py").exists()
    assert len(machine.versions) == 1


def test_a_transfer_cut_off_leaves_the_old_version_in_use_and_the_next_one_heals(machine: Machine) -> None:
    machine.bring(OLD)
    change = machine.needs(NEW)
    assert change is not None
    assert not machine.apply(replace(change, stdin=change.stdin[:100])).ok
    assert (machine.folder / "lib/corral/__init__.py").read_text() == "OLD = 1\n"
    assert machine.needs(OLD) is None
    machine.bring(NEW)
    assert len(machine.versions) == 1


def test_what_somebody_changed_there_is_brought_again(machine: Machine) -> None:
    machine.bring(NEW)
    (machine.folder / "lib/corral/__init__.py").write_text("HACK = 1\n")
    machine.bring(NEW)
    (machine.folder / "lib/corral/more.py").write_text("")
    machine.bring(NEW)
    machine.command.unlink()
    machine.bring(NEW)
    assert (machine.folder / "lib/corral/__init__.py").read_text() == "NEW = 1\n"


def test_an_upgraded_python_gets_its_own_caches(machine: Machine) -> None:
    machine.bring(NEW)
    for cache in machine.folder.rglob("*.pyc"):
        cache.rename(cache.with_name(cache.name.replace("cpython-", "cpython-2")))
    change = machine.needs(NEW)
    assert change is not None
    assert change.detail == "it is compiled for another Python"


def test_the_command_of_an_operator_who_installed_corral_there_stays(machine: Machine) -> None:
    machine.command.write_text("#!/bin/sh\n")
    machine.bring(NEW)
    assert machine.command.read_text() == "#!/bin/sh\n"


def test_the_same_files_make_the_same_archive() -> None:
    again = Program(dict(reversed(list(NEW.files.items()))))
    assert (again.digest, again.payload) == (NEW.digest, NEW.payload)
    assert OLD.digest != NEW.digest


def test_only_pure_python_travels_and_each_library_with_its_licence() -> None:
    files = program().files
    assert {path.partition("/")[0] for path in files} == {"lib", "vendor"}
    assert not [path for path in files if path.endswith((".pyc", ".so"))]
    for library in ("rich", "typer", "cloudpickle"):
        assert [path for path in files if path.startswith(f"vendor/{library}-") and "LICENSE" in path]
