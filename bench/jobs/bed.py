"""A local cluster with somebody at work on its login machine, and a stopwatch there."""

from __future__ import annotations

import asyncio
import io
import json
import shlex
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.tools import Command, Corral, environment, output

from corral.deploy.events import Event
from corral.spec.dump import dump_cluster
from corral.spec.local import local_cluster
from corral.workflows.down import down_cluster
from corral.workflows.machines import ssh_to
from corral.workflows.state import ClusterState

PERSON = "researcher"
TOOLS = "/opt/corral-bench"
PYTHON = f"PYTHONPATH=/opt/corral/lib:/opt/corral/vendor:{TOOLS}/site-packages python3"
_SUBMITIT = ("submitit", "cloudpickle", "typing_extensions.py")


@dataclass(frozen=True, slots=True)
class Timed:
    """A shell command to time in the person's project folder."""

    name: str
    command: str
    rounds: int
    after: str = ""
    """Run after each round, and not timed."""
    limit_s: float = 600


Samples = dict[str, list[float]]


class LoginBed:
    """Three machines, of which the first is head and login machine."""

    def __init__(self, name: str, release: str) -> None:
        self.spec = local_cluster(name, 3, {"release": release})

    def up(self, settings: Mapping[str, str] | None = None) -> None:
        """Make the cluster, or change it: with lines of slurm.conf that win over Corral's own."""
        slurm = self.spec.slurm.model_copy(update={"conf": dict(settings or {})})
        state = ClusterState(self.spec.name)
        state.make()
        state.write(state.cluster_file, dump_cluster(self.spec.model_copy(update={"slurm": slurm})).encode())
        output(Command([*Corral.command("up"), "-c", self.spec.name]))

    def furnish(self) -> None:
        """Bring the tools to measure with, and a small project. Byte code is kept for submitit as it is for Corral."""
        script = f"mkdir -p {TOOLS} && tar -xz -C {TOOLS} && python3 -m compileall -q {TOOLS}"
        self.root(script, _archive())
        self.person("mkdir -p project && echo 'print(1)' > project/train.py")

    def root(self, script: str, stdin: bytes = b"") -> str:
        return _said(self.as_root(script), stdin)

    def person(self, script: str, stdin: bytes = b"") -> str:
        """Run a script in a login shell of the person's; what it printed."""
        return _said(self.as_person(script), stdin)

    def as_root(self, script: str) -> list[str]:
        return ssh_to(self.spec, self.spec.head, [script])

    def as_person(self, script: str) -> list[str]:
        """The command line with which somebody outside does that."""
        return self.as_root(f"su - {PERSON} -c {shlex.quote(script)}")

    def timed(self, commands: Sequence[Timed]) -> tuple[Samples, dict[str, list[str]]]:
        """Seconds of each command, and the last line of what it said, round by round."""
        asked = json.dumps([asdict(command) for command in commands]).encode()
        found = json.loads(self.person(f"cd project && python3 {TOOLS}/stopwatch.py", asked))
        for name, taken in found.items():
            print(f"  {name:44} {'  '.join(f'{seconds:.2f}' for seconds, _ in taken)} s", flush=True)
        seconds = {name: [seconds for seconds, _ in taken] for name, taken in found.items()}
        return seconds, {name: [said for _, said in taken] for name, taken in found.items()}

    def remove(self) -> None:
        asyncio.run(down_cluster(self.spec, _quiet))


def _archive() -> bytes:
    raw = io.BytesIO()
    packages = next((environment() / "lib").glob("python*/site-packages"))
    with tarfile.open(fileobj=raw, mode="w:gz") as archive:
        for path in (Path(__file__).parent / "on_head").glob("*.py"):
            archive.add(path, path.name)
        for name in _SUBMITIT:
            archive.add(packages / name, f"site-packages/{name}", filter=_no_byte_code)
    return raw.getvalue()


def _no_byte_code(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if entry.name.endswith("__pycache__") else entry


def _said(argv: Sequence[str], stdin: bytes) -> str:
    done = subprocess.run(list(argv), input=stdin, capture_output=True, check=False)
    if done.returncode != 0:
        said = (done.stdout + done.stderr).decode(errors="replace")[-3000:]
        raise RuntimeError(f"{shlex.join(argv[-1:])} exited with {done.returncode}:\n{said}")
    return done.stdout.decode()


def _quiet(_event: Event) -> None:
    """Nobody watches how the machines go away."""
