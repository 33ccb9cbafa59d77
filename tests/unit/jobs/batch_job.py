"""A job whose batch script runs for real; only `srun`, which needs a cluster, is a stand-in that drops its options."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tests.unit.jobs.bench import TOKEN, program

from corral.jobs.batch import Batch
from corral.jobs.layout import Home
from corral.jobs.request import Environment, JobRequest

HOSTILE = ("", " ", "a b", "it's", '"quoted"', "$HOME", "`id`", "$(id)", "\\", "*", "~", "!x", "a;b&c|d", "#x", "ü→😀")
SHOW = ("bash", "-c", 'printf "%s\\0" "$@"', "-")
SRUN = 'echo "$@" >> "$SRUN_ASKED"; while [ "${1#--}" != "$1" ]; do shift; done; exec "$@"'


@dataclass
class Job:
    """One job's folder, and its script run as Slurm would, as often as a test likes."""

    root: Path
    variables: dict[str, str] = field(default_factory=dict)
    environment: Environment = field(default_factory=Environment)
    ddp: bool = False

    def __post_init__(self) -> None:
        program(self.root / "bin", "srun", SRUN)
        (self.code / "sub").mkdir(parents=True)
        (self.code / "train.py").write_text("print('hi')\n")
        self.folder.mkdir()

    @property
    def home(self) -> Home:
        return Home(str(self.root), "ada")

    @property
    def code(self) -> Path:
        return Path(self.home.code("c0de"))

    @property
    def folder(self) -> Path:
        return Path(self.home.path, TOKEN)

    def run(self, *command: str, sweep: bool = False, code: str | None = "c0de", **env: str) -> tuple[int, str]:
        """The exit code and what was printed."""
        request = JobRequest(command, "test", environment=self.environment, ddp=self.ddp, variables=self.variables)
        batch = Batch(request, self.home, self.home.job(TOKEN), (), code, sweep=sweep)
        script = self.root / "batch.sh"
        script.write_text(batch.render())
        surroundings = {
            "PATH": f"{self.root}/bin:{os.environ['PATH']}",
            "HOME": "/nowhere",
            "CORRAL_ATTEMPT": "1",
            "SRUN_ASKED": f"{self.root}/asked",
            **env,
        }
        done = subprocess.run(
            ["bash", str(script)],
            cwd=self.folder,
            env=surroundings,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return done.returncode, done.stdout.decode()

    def ended(self, unit: str = "") -> str | None:
        path = self.folder / unit / "ended"
        return path.read_text().strip() if path.exists() else None
