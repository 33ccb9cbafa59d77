"""How fast a folder is that all nodes share: `python3 -m corral.gauges.storage FOLDER`, one process on every node.

First one node at a time, then all at once: a large file is written and another node's is read, then many small files.
What a node reads was written by another one, so that it does not come from the node's own memory. Tells `setup`, then
a `figure` for each node and thing that was measured. The folder is made, and is gone in the end.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from corral.gauges.rally import Rally
from corral.gauges.report import tell

_BLOCK_BYTES = 1 << 20
_SMALL_BYTES = 4096
_LIMIT_S = 3.0
"""Slow storage is measured on less: nobody waits longer for one figure."""

Figure = dict[str, float]


class Bench:
    """One node's part: its own files, and those of the node before it."""

    def __init__(self, folder: Path, rally: Rally, size_bytes: int, files: int) -> None:
        self._folder, self._rally = folder, rally
        self._size_bytes, self._files = size_bytes, files
        self._own, self._other = rally.rank, (rally.rank - 1) % rally.size
        self._block = os.urandom(_BLOCK_BYTES)

    def measure(self, names: list[str]) -> None:
        """Everything, twice."""
        stages: dict[str, Callable[[], Figure]] = {
            "write": self._write,
            "read": self._read,
            "create": self._create,
            "stat": self._stat,
            "open": self._open,
            "delete": self._delete,
        }
        for how in ("alone", "together"):
            for what, stage in stages.items():
                figures = self._in_turn(stage) if how == "alone" else self._at_once(stage)
                if self._rally.rank == 0:
                    for node, figure in zip(names, figures, strict=True):
                        tell("figure", how=how, what=what, node=node, **figure)
            (self._folder / f"{self._own}.large").unlink()
            self._rally.gather()

    def _in_turn(self, stage: Callable[[], Figure]) -> list[Figure]:
        mine: Figure = {}
        for turn in range(self._rally.size):
            self._rally.gather()
            if turn == self._own:
                mine = stage()
        return self._rally.gather(mine)

    def _at_once(self, stage: Callable[[], Figure]) -> list[Figure]:
        self._rally.gather()
        return self._rally.gather(stage())

    def _write(self) -> Figure:
        written, began = 0, time.perf_counter()
        with (self._folder / f"{self._own}.large").open("wb", buffering=0) as file:
            while written < self._size_bytes and time.perf_counter() - began < _LIMIT_S:
                written += file.write(self._block[: self._size_bytes - written])
            os.fsync(file.fileno())
        return {"amount": written, "seconds": time.perf_counter() - began}

    def _read(self) -> Figure:
        with (self._folder / f"{self._other}.large").open("rb", buffering=0) as file:
            # On one computer all machines have the same memory: what was written must leave it first.
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            room, count, began = bytearray(_BLOCK_BYTES), 0, time.perf_counter()
            while (got := file.readinto(room)) and time.perf_counter() - began < 2 * _LIMIT_S:
                count += got
        return {"amount": count, "seconds": time.perf_counter() - began}

    def _create(self) -> Figure:
        small = self._small(self._own)
        small.mkdir()
        content = self._block[:_SMALL_BYTES]
        return self._counted(self._files, lambda number: (small / str(number)).write_bytes(content))

    def _stat(self) -> Figure:
        small = self._small(self._other)
        return self._counted(self._there(small), lambda number: (small / str(number)).stat())

    def _open(self) -> Figure:
        small = self._small(self._other)

        def whole(number: int) -> None:
            if len((small / str(number)).read_bytes()) != _SMALL_BYTES:
                raise OSError(f"{small / str(number)} is not whole")

        return self._counted(self._there(small), whole)

    def _delete(self) -> Figure:
        small = self._small(self._own)
        there = self._there(small)
        figure = self._counted(there, lambda number: (small / str(number)).unlink())
        shutil.rmtree(small)
        return figure

    def _small(self, rank: int) -> Path:
        return self._folder / f"{rank}.small"

    def _there(self, small: Path) -> int:
        return len(list(small.iterdir()))

    def _counted(self, most: int, act: Callable[[int], object]) -> Figure:
        done, began = 0, time.perf_counter()
        while done < most and time.perf_counter() - began < _LIMIT_S:
            act(done)
            done += 1
        return {"amount": done, "seconds": time.perf_counter() - began}


def main() -> None:
    """Measure, and leave nothing behind, whatever happens."""
    parser = argparse.ArgumentParser(prog="corral.gauges.storage")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size-bytes", type=int, default=256 << 20)
    parser.add_argument("--files", type=int, default=500)
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    rank, size = int(os.environ.get("SLURM_PROCID", "0")), int(os.environ.get("SLURM_NTASKS", "1"))
    folder: Path = options.folder
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        rally = Rally(folder, rank, size)
        name = os.environ.get("SLURMD_NODENAME") or socket.gethostname()
        names = [str(found) for found in rally.gather(name)]
        if rank == 0:
            kind, source = _filesystem(folder)
            tell("setup", nodes=names, filesystem=kind, source=source)
        Bench(folder, rally, options.size_bytes, options.files).measure(names)
        rally.gather()
    except OSError as problem:
        sys.exit(f"corral: {_words(problem)}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _words(problem: OSError) -> str:
    """What went wrong, and with which file."""
    return f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem)


def _filesystem(folder: Path) -> tuple[str, str]:
    """The kind of the file system that holds a folder, and what is mounted there."""
    best, found = "", ("unknown", "")
    for line in Path("/proc/self/mounts").read_text().splitlines():
        source, mount, kind, *_ = line.split()
        mount = mount.encode().decode("unicode_escape")
        if len(mount) >= len(best) and folder.resolve().is_relative_to(mount):
            best, found = mount, (kind, source)
    return found


def _stop(_number: int, _frame: FrameType | None) -> None:
    sys.exit("corral: stopped")


if __name__ == "__main__":
    main()
