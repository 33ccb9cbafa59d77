"""Researchers at work on a cluster under test: as themselves, on the login machine."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.lab import Lab

TRAIN = Path(__file__).parents[2] / "examples/train_checkpointed.py"
TORCH = sys.prefix
"""An environment with PyTorch, which the machines of a local cluster see too."""

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed here: `make test` brings it"
)


@dataclass(frozen=True)
class Person:
    """Somebody with a shell on the head, and a project in their home."""

    lab: Lab
    name: str

    @property
    def home(self) -> str:
        return f"/shared/home/{self.name}"

    def sh(self, command: str, exit_code: int | None = 0, timeout_s: float = 180) -> str:
        """Run a command in the project's folder; its output, stderr included."""
        login = f"su - {self.name} -c {shlex.quote(f'cd ~/project && {{ {command}; }} 2>&1')}"
        return self.lab.ssh("node0", login, exit_code, timeout_s)

    def corral(self, *args: str, exit_code: int | None = 0, timeout_s: float = 180) -> str:
        return self.sh(shlex.join(["corral", *args]), exit_code, timeout_s)

    def json(self, *args: str) -> Any:
        return json.loads(self.corral(*args, "--json"))

    def start(self, *args: str) -> str:
        """Send a job; its number."""
        return self.corral("run", "--detach", *args).split()[-1]

    def log(self, job: str) -> str:
        """What a job has printed so far; nothing before it has begun."""
        return self.corral("logs", job, exit_code=None)

    def write(self, name: str, text: str) -> None:
        """Put a file into the project."""
        path = f"{self.home}/project/{name}"
        script = f"mkdir -p {self.home}/project && printf %s {shlex.quote(text)} > {path}"
        self.lab.ssh("node0", f"su - {self.name} -c {shlex.quote(script)}")

    def read(self, path: str) -> str:
        """A file of theirs, or nothing."""
        return self.lab.ssh("node0", f"cat {path} 2>/dev/null || true")


def losses(log: str) -> dict[int, str]:
    """What the example training printed, by step; a step that was repeated must have had the same loss."""
    found: dict[int, str] = {}
    for step, loss in re.findall(r"step (\d+) loss (\S+)", log):
        assert found.setdefault(int(step), loss) == loss, f"step {step} had the losses {found[int(step)]} and {loss}"
    return found
