"""A local cluster of three whose links can be made slow, with somebody who trains on it."""

from __future__ import annotations

import io
import shlex
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

from bench.jobs.bed import LoginBed

from corral.measure.records import Record, Records
from corral.spec.local import local_cluster

_FILES = (Path(__file__).with_name("job.py"), Path(__file__).parents[2] / "examples/train_lm.py")


class TrainBed(LoginBed):
    """The same machines throughout; only their links change."""

    def __init__(self, name: str, release: str) -> None:
        super().__init__(name, release)
        self._name, self._release = name, release

    def shape(self, link: str | None) -> None:
        """Make every machine's link as slow as this, or not slow at all; the first time, make the machines."""
        self.spec = local_cluster(self._name, 3, {"release": self._release, "link": link})
        self.up()

    def bring(self) -> None:
        """Put the scripts where jobs take them from."""
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w:gz") as archive:
            for path in _FILES:
                archive.add(path, path.name)
        self.person("mkdir -p train && tar -xz -C train", raw.getvalue())

    def job(self, arguments: str, heard: Callable[[Record], None]) -> list[Record]:
        """Run the script on all three nodes; what it told, which is also heard as it comes."""
        launch = f"corral run --env {shlex.quote(sys.prefix)} --nodes 3 --ddp job.py {arguments}"
        records, found = Records(), []
        with subprocess.Popen(self.as_person(f"cd train && {launch} 2>&1"), stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            for line in process.stdout:
                for record in records.take(line):
                    heard(record)
                    found.append(record)
        if process.returncode != 0:
            raise RuntimeError(f"{launch} exited with {process.returncode}:\n" + "\n".join(records.words[-40:]))
        return found
