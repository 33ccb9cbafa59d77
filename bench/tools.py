"""The two tools, each as the command lines that a user would type."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bench.export import write_inventory
from bench.machines import Bed

_HERE = Path(__file__).parent
_REQUIREMENTS = _HERE / "requirements-bench.txt"
_PLAYBOOK = _HERE / "ansible"
_VENV = _HERE.parent / ".venv-bench"
_CORRAL = Path(sys.executable).with_name("corral")


@dataclass(frozen=True, slots=True)
class Command:
    """A process to time."""

    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)


class Tool(Protocol):
    """Something that deploys."""

    @property
    def name(self) -> str: ...

    def version(self) -> str: ...

    def prepare(self, bed: Bed, /) -> None:
        """Do once per fresh set of machines what a user would have done long before."""

    def deploy(self, bed: Bed) -> Command:
        """Make it so; run again, find that nothing is to be done."""

    def look(self, bed: Bed) -> Command:
        """Say what would change, and change nothing."""

    def finish(self) -> None:
        """Let go of what is kept between commands."""


class Corral:
    """The installed `corral`."""

    name = "Corral"

    @staticmethod
    def command(*words: str) -> list[str]:
        return [str(_CORRAL), *words]

    def version(self) -> str:
        return output(Command(self.command("version"))).split()[-1]

    def prepare(self, _bed: Bed) -> None:
        return None

    def deploy(self, bed: Bed) -> Command:
        return Command(self.command("up", "-c", bed.spec.name))

    def look(self, bed: Bed) -> Command:
        return Command(self.command("plan", "-c", bed.spec.name))

    def finish(self) -> None:
        return None


class Ansible:
    """ansible-core from an environment of its own, running the playbook next to this file."""

    name = "Ansible"

    def __init__(self, folder: Path, *, playbook: str = "site.yml") -> None:
        self._folder = folder
        self._name = playbook
        self._inventory = folder / "inventory.json"
        self._program = environment() / "bin/ansible-playbook"

    def version(self) -> str:
        return output(Command([str(self._program), "--version"])).split("]")[0].split()[-1]

    def prepare(self, bed: Bed) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._inventory = write_inventory(bed.cluster(), bed.machines(), self._folder)

    def deploy(self, bed: Bed) -> Command:
        return self._playbook(bed)

    def look(self, bed: Bed) -> Command:
        return self._playbook(bed, "--check")

    def finish(self) -> None:
        """End the kept connections: the machines behind them are about to vanish."""
        for socket in (self._folder / "cp").glob("*"):
            subprocess.run(
                ["ssh", "-O", "exit", "-o", f"ControlPath={socket}", "any"], capture_output=True, check=False
            )

    def _playbook(self, bed: Bed, *options: str) -> Command:
        enter = ["nsenter", f"--net={bed.network_namespace}"]
        playbook = [str(self._program), "-i", str(self._inventory), f"--forks={bed.hosts}", *options]
        env = {
            "ANSIBLE_CONFIG": str(_PLAYBOOK / "ansible.cfg"),
            "ANSIBLE_HOME": str(self._folder / "home"),
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self._folder / "cp"),
            "LC_ALL": "C.UTF-8",
            # Our own modules are not for Ansible's Python.
            "PYTHONPATH": "",
        }
        return Command([*enter, *playbook, str(_PLAYBOOK / self._name)], env)


def output(command: Command) -> str:
    """Run a command to its end and return what it printed; a failure shows the end of what it said."""
    # Both tools start as they do for a user: with their byte code kept.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        list(command.argv), env=inherited | dict(command.env), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        said = "\n".join((done.stdout + done.stderr).splitlines()[-40:])
        raise RuntimeError(f"{' '.join(command.argv)} exited with {done.returncode}:\n{said}")
    return done.stdout


def environment() -> Path:
    """Install what requirements-bench.txt pins into an environment of its own, once."""
    stamp, wanted = _VENV / "requirements", hashlib.sha256(_REQUIREMENTS.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(_VENV)], check=True)
        subprocess.run([str(_VENV / "bin/pip"), "install", "--quiet", "-r", str(_REQUIREMENTS)], check=True)
        stamp.write_text(wanted)
    return _VENV
