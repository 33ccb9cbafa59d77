"""`corral run`: one command as a job."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from corral.errors import InputError
from corral.jobs import environments
from corral.jobs.desk import Desk
from corral.jobs.request import Environment, JobRequest, Resources
from corral.jobs.snapshot import Snapshot, take
from corral.jobs.submit import Prepared, ask, prepare


@dataclass(frozen=True, slots=True)
class Ask:
    """What a person says on the command line or in Python, before the cluster was looked at."""

    command: tuple[str, ...]
    resources: Resources = field(default_factory=Resources)
    environment: str = ""
    name: str = ""
    ddp: bool = False
    after: tuple[str, ...] = ()
    folder: Path | None = None
    """The working folder to send along; None sends none."""


async def prepare_job(desk: Desk, wanted: Ask, files: Mapping[str, bytes] | None = None) -> Prepared:
    """Look at the folder and the cluster; nothing is changed anywhere. `files` go into the job's folder."""
    snapshot = await snapshot_of(wanted)
    found = await ask(desk, wanted.resources, wanted.environment, snapshot)
    request = request_of(wanted, found.resources, found.environment)
    return prepare(desk, request, snapshot, has_code=found.has_code, files=files)


def default_folder(command: Sequence[str]) -> Path | None:
    """The working folder, unless it is no project's: whoever runs a command from home does not mean all of it."""
    here = Path.cwd()
    nobodys = here in (Path.home(), Path("/"), Path(tempfile.gettempdir()))
    return None if nobodys and not any(_lies_in(here, word) for word in command) else here


def _lies_in(folder: Path, word: str) -> bool:
    try:
        return not word.startswith("/") and (folder / word).is_file()
    except (OSError, ValueError):
        # Too long for a name, or with a NUL in it: whole programs are among the words of `bash -c`.
        return False


async def snapshot_of(wanted: Ask) -> Snapshot | None:
    """The folder as it is now, if it is to be sent along."""
    if wanted.folder is None:
        return None
    snapshot = await take(wanted.folder)
    first = wanted.command[0]
    if first.endswith(".py") and not first.startswith("/") and os.path.normpath(first) not in snapshot.files:
        raise InputError(f"{first} cannot be run: {_why_not(wanted.folder, first)}")
    return snapshot


def _why_not(folder: Path, name: str) -> str:
    if not (folder / name).exists():
        return f"there is none in {folder}"
    if os.path.normpath(name).startswith(".."):
        return f"it is outside of {folder}, which is what the job gets"
    return "it is ignored (.gitignore or .corralignore)"


def request_of(wanted: Ask, resources: Resources, environment: Environment) -> JobRequest:
    """The request, with what the cluster answered."""
    return JobRequest(
        command=command_of(wanted.command, environment),
        name=wanted.name or default_name(wanted.command),
        resources=resources,
        environment=environment,
        ddp=wanted.ddp,
        after=wanted.after,
    )


def command_of(words: Sequence[str], environment: Environment) -> tuple[str, ...]:
    """A Python file is run by the environment's Python; everything else is a command as it stands."""
    python = environments.python(environment)
    if words[0].endswith(".py"):
        return (python, *words)
    return (python, *words[1:]) if words[0] in ("python", "python3") else tuple(words)


def default_name(words: Sequence[str]) -> str:
    """`train` for `src/train.py --lr 1`."""
    return Path(words[0]).stem or "job"
