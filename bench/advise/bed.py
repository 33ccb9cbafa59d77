"""A local cluster of three machines whose links change, and the reports that Corral's own benchmarks give on it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.jobs.bed import LoginBed
from bench.tools import Command, Corral, output

from corral.spec.local import local_cluster

NODES = 3
EVERY = 20
"""Steps of a round of `local`: fewer than usual, so that a round is over soon, and exchanges matter more."""
UNSHAPED = "unshaped"
_NAME = "bench-advise"
Report = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Training:
    """A model with the compute time that its steps are held to."""

    model: str
    compute_ms: int


class LinkBed(LoginBed):
    """The same machines throughout; only their links change."""

    def __init__(self, release: str) -> None:
        super().__init__(_NAME, release)
        self._release = release

    def link(self, rate: str) -> None:
        """Make the cluster with such links, or change those of the one that runs."""
        shaped = {} if rate == UNSHAPED else {"link": rate}
        self.spec = local_cluster(_NAME, NODES, {"release": self._release, **shaped})
        self.up()

    def all_reduces(self, nodes: int) -> Report:
        """The short benchmark of all-reduces: from 256 KiB to 16 MiB, as plain DDP and as lanes do them."""
        sizes = ("--min-bytes", "256K", "--max-bytes", "16M", "--factor", "4")
        return self._bench("allreduce", "--nodes", str(nodes), *sizes)

    def training(self, what: Training, modes: Sequence[str], seconds: float, accumulate: int) -> Report:
        """Steps on one, two and three nodes in every mode."""
        which = ("--models", what.model, "--modes", ",".join(modes), "--accumulate", str(accumulate))
        pace = ("--compute-ms", str(what.compute_ms), "--seconds", f"{seconds:g}", "--every", str(EVERY))
        return self._bench("ddp", "--nodes", str(NODES), *which, *pace)

    def _bench(self, *words: str) -> Report:
        began = time.monotonic()
        # A thread each: all machines share this one's cores.
        said = output(Command(Corral.command("bench", *words, "-c", _NAME, "--json"), {"OMP_NUM_THREADS": "1"}))
        print(
            f"  {time.monotonic() - began:5.0f} s  corral bench {' '.join(words)}; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
        report: Report = json.loads(said)
        return report
