"""Scripts of users, run as real processes and driven step by step: one line of input lets them take one step."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[3] / "src"

# Takes a step per line of input, and prints what a step drew from the random generator.
STEPPING = """
    import random, sys
    from corral import checkpoint
    random.seed(1)
    state = checkpoint.restore({"total": 0}, every_s=3600)
    print("ready", flush=True)
    for step in state.steps(200):
        sys.stdin.readline()
        state["total"] += step
        print(step, random.random(), state["total"], flush=True)
"""


@dataclass(frozen=True)
class Script:
    """A running script."""

    process: subprocess.Popen[str]

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def wait_for(self, line: str) -> None:
        while (read := self.line()) != line:
            assert self.process.poll() is None or read, f"ended without saying {line!r}"

    def step(self) -> str:
        assert self.process.stdin is not None
        os.write(self.process.stdin.fileno(), b"\n")
        return self.line()

    def end(self) -> tuple[int, str, str]:
        """Its exit code, and the rest of its output and of what it said."""
        try:
            output, said = self.process.communicate("\n" * 200, timeout=60)
        finally:
            self.process.kill()
        return self.process.returncode, output, said

    def stop(self, number: signal.Signals) -> list[str]:
        """Send a signal, and let it step until it has noticed: the lines of these steps."""
        self.process.send_signal(number)
        lines = []
        with contextlib.suppress(BrokenPipeError):
            while line := self.step():
                lines.append(line)
        return lines


def start(text: str, job: Path | None, *, python: str = sys.executable, **environment: str) -> Script:
    """Start a script in a job's folder, or outside of any job."""
    kept = {name: value for name, value in os.environ.items() if name not in ("CORRAL_JOB_DIR", "RANK", "SLURM_PROCID")}
    inside = {"CORRAL_JOB_DIR": str(job)} if job is not None else {}
    process = subprocess.Popen(
        [python, "-c", textwrap.dedent(text)],
        env=kept | {"PYTHONPATH": str(SOURCES)} | inside | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return Script(process)


def run(text: str, job: Path | None, **environment: str) -> tuple[int, str, str]:
    """Run a script to its end: exit code, output, and what it said."""
    return start(text, job, **environment).end()


@cache
def python_with_torch() -> str:
    """An interpreter that has PyTorch: this one, or the one in CORRAL_TEST_TORCH_PYTHON."""
    python = os.environ.get("CORRAL_TEST_TORCH_PYTHON", sys.executable)
    found = subprocess.run([python, "-c", "import torch"], capture_output=True, check=False)
    if found.returncode:
        pytest.skip(f"{python} has no PyTorch; CORRAL_TEST_TORCH_PYTHON names another interpreter")
    return python
