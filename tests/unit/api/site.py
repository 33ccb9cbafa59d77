"""A cluster of this very machine: what is submitted is written down for real, and runs when a test says so."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.unit.jobs.batch_job import SRUN
from tests.unit.jobs.bench import Controller, desk_in, program, says

from corral.api import cluster as api
from corral.jobs.desk import Desk
from corral.jobs.sweep.indices import expand

NODES = r"node0\037idle\0378\0370/8/0/8\03716000\037gpu:a100:2\037none\037root\037main\n"
PARTITIONS = r"main\037up\037infinite\0371\037main*\n"


@dataclass
class Place:
    """The cluster, and its controller that runs nothing by itself."""

    root: Path
    cluster: api.Cluster
    controller: Controller = field(default_factory=Controller)

    def work(self) -> None:
        """Run everything that was taken, as Slurm would; only `srun` is a stand-in."""
        while self.controller.taken:
            description = self.controller.taken.pop(0)
            script = Path(description.folder, "batch.sh").read_text()
            assert script == description.script
            for task in expand(description.array) if description.array else (None,):
                environment = {**description.environment, "SRUN_ASKED": "/dev/null"}
                environment["PATH"] = f"{self.root}/bin:{os.environ['PATH']}"
                if task is not None:
                    environment["SLURM_ARRAY_TASK_ID"] = str(task)
                with Path(description.output.replace("%a", str(task))).open("ab") as log:
                    subprocess.run(
                        ["bash", "-c", script],
                        cwd=description.folder,
                        env=environment,
                        stdout=log,
                        stderr=log,
                        check=False,
                    )


def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A `Cluster` whose desk is in a folder of the test's own."""
    controller = Controller()

    @asynccontextmanager
    async def open_desk(cluster: str | None, user: str | None) -> AsyncIterator[Desk]:
        yield desk_in(tmp_path, controller)

    says(monkeypatch, tmp_path, squeue="", sacct="")
    program(tmp_path / "bin", "sinfo", f"case $* in *-N*) printf '{NODES}';; *) printf '{PARTITIONS}';; esac")
    program(tmp_path / "bin", "srun", SRUN)
    monkeypatch.setattr(api, "open_desk", open_desk)
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    with api.connect() as cluster:
        yield Place(tmp_path, cluster, controller)
