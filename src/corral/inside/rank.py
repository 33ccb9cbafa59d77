"""Runs one rank of a distributed job: `python3 -m corral.inside.rank COMMAND…`, started by torchrun.

The rank's output goes to `ranks/N.log` as it comes, and by whole lines with `[N] ` before them to the job's log. When
the command has ended, `ranks/N.exit` holds "CODE SECONDS.NANOSECONDS". A shell cannot do this: it may not catch a
signal that was ignored when it began, and its pipes wait for whatever the command left running.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from corral.checkpoint import AGAIN
from corral.inside import files

STARTED = "corral: rank"  # begins the line in ranks/N.log that separates one run of the job from the next

_BLOCK_BYTES = 1 << 16
_POLL_S = 0.2
_LAST_WORDS_S = 2.0  # for output that is still on its way when the command has ended


def main(command: list[str]) -> int:
    """Run the command to its end and tell how it ended."""
    rank = os.environ["RANK"]
    folder = Path(os.environ["CORRAL_JOB_DIR"]) / "ranks"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{rank}.exit").unlink(missing_ok=True)
    with (folder / f"{rank}.log").open("ab", buffering=0) as log:
        log.write(f"{STARTED} {rank} started on {socket.gethostname()}\n".encode())
        code = _run(command, log, _Lines(rank))
    _leave(folder, f"{rank}.exit", code)
    # To torchrun a rank that asks to run again has not failed: it would otherwise end the others while they save.
    return 0 if code == AGAIN else code


def _run(command: list[str], log: BinaryIO, lines: _Lines) -> int:
    child: subprocess.Popen[bytes] | None = None

    def forward(number: int, _frame: FrameType | None) -> None:
        if child is not None:
            child.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, forward)
    # Inherited by the command: Slurm's warning waits there until it is asked for, and nobody dies of it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    output, its_end = os.pipe()
    try:
        child = subprocess.Popen(command, stdout=its_end, stderr=its_end)
    except OSError as error:
        message = f"corral: cannot start {command[0]}: {error.strerror}\n".encode()
        log.write(message)
        lines.take(message)
        return 127
    finally:
        os.close(its_end)
    signal.signal(signal.SIGUSR1, forward)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
    _copy(output, child, log, lines)
    code = child.wait()
    return code if code >= 0 else 128 - code


def _copy(output: int, child: subprocess.Popen[bytes], log: BinaryIO, lines: _Lines) -> None:
    """Until the output ends, or the command has ended and what it left running says nothing."""
    ended_at: float | None = None
    while True:
        if ended_at is None and child.poll() is not None:
            ended_at = time.monotonic()
        if ended_at is not None and time.monotonic() - ended_at > _LAST_WORDS_S:
            break
        if select.select([output], [], [], _POLL_S if ended_at is None else 0)[0]:
            block = os.read(output, _BLOCK_BYTES)
            if not block:
                break
            log.write(block)
            lines.take(block)
        elif ended_at is not None:
            break
    lines.finish()


class _Lines:
    """Writes whole lines to stdout, which all ranks of a node share, each with its rank."""

    def __init__(self, rank: str) -> None:
        self._prefix = f"[{rank}] ".encode()
        self._begun = b""

    def take(self, block: bytes) -> None:
        *whole, self._begun = (self._begun + block).split(b"\n")
        for line in whole:
            self._write(line)
        if b"\r" in self._begun[:-1]:  # of a progress bar only its last state matters
            self._begun = self._begun[self._begun.rindex(b"\r", 0, -1) + 1 :]

    def finish(self) -> None:
        if self._begun:
            self._write(self._begun)
            self._begun = b""

    def _write(self, line: bytes) -> None:
        shown = self._prefix + line.rstrip(b"\r").rpartition(b"\r")[2] + b"\n"
        while shown:  # one write for a line; pipes keep up to 4 KiB of it together
            shown = shown[os.write(sys.stdout.fileno(), shown) :]


def _leave(folder: Path, name: str, code: int) -> None:
    now = time.time_ns()

    def write(file: BinaryIO) -> str:
        file.write(f"{code} {now // 10**9}.{now % 10**9:09}\n".encode())
        return name

    files.replace(folder, write)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
