"""A desk on this very machine: real folders and a real shell, and stand-ins for the programs of Slurm."""

from __future__ import annotations

import json
import os
import pwd
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from corral.hosts.shell import LocalShell
from corral.jobs.desk import Desk
from corral.jobs.site import Site
from corral.slurm.description import JobDescription
from corral.slurm.rest.client import SlurmRest

ME = pwd.getpwuid(os.geteuid()).pw_name
TOKEN = "260101-120000-abcd"


@dataclass
class Controller:
    """Stands in for SlurmRest: takes every job, or raises what it is told to."""

    problem: BaseException | None = None
    taken: list[JobDescription] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)

    async def submit(self, description: JobDescription) -> int:
        if self.problem is not None:
            raise self.problem
        self.taken.append(description)
        return 40 + len(self.taken)

    async def cancel(self, job_id: int | str) -> None:
        self.cancelled.append(str(job_id))


def desk_in(folder: Path, controller: Controller | None = None) -> Desk:
    """A desk whose jobs live in a folder of the test's own."""
    jobs = folder / "jobs"
    (jobs / ".open").mkdir(parents=True, exist_ok=True)
    site = Site("lab", "node0", "127.0.0.1", 6820, str(jobs))
    return Desk(LocalShell(ME), site, _rest=cast(SlurmRest, controller or Controller()))


def written_down(desk: Desk, token: str = TOKEN, submitted: str = "", *, mark: bool = True) -> Path:
    """A submission's folder as `send` leaves it, with these lines about what was sent."""
    folder = Path(desk.home.path, token)
    folder.mkdir(parents=True)
    (folder / "submitted").write_text(submitted or f"1 41 {int(time.time())} -\n")
    (folder / "batch.sh").write_text("#!/bin/bash\ntrue\n")
    if mark:
        opened = Path(desk.home.open_mark(token))
        opened.parent.mkdir(exist_ok=True)
        opened.touch()
    return folder


def sent(desk: Desk, submitted: str, array: str = "", token: str = TOKEN) -> Path:
    """A submission's folder with all that is needed to send it again."""
    folder = written_down(desk, token, submitted)
    before = JobDescription(
        name="train",
        script="",
        folder=str(folder),
        output=f"{folder}/log",
        array=array,
        dependency="afterok:3",
        environment={"USER": ME, "CORRAL_ATTEMPT": "1"},
    )
    (folder / "description.json").write_text(json.dumps(before.to_json()))
    return folder


def program(folder: Path, name: str, script: str) -> Path:
    """A program of that name; whoever has the folder on PATH finds it."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def says(monkeypatch: pytest.MonkeyPatch, folder: Path, **texts: str) -> None:
    """Programs on PATH that print prepared texts, and note each time that they were called."""
    bin_folder = folder / "bin"
    for name, text in texts.items():
        (folder / f"{name}.says").write_text(text)
        program(bin_folder, name, f'echo "$@" >> {folder}/{name}.asked; cat {folder}/{name}.says')
    monkeypatch.setenv("PATH", f"{bin_folder}:{os.environ['PATH']}")


def asked(folder: Path, name: str) -> list[str]:
    """How a program of `says` was called, a line per call."""
    path = folder / f"{name}.asked"
    return path.read_text().splitlines() if path.exists() else []
