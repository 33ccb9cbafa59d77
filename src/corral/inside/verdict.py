"""Which rank of a distributed job failed by itself, and what it said. The others only fell with it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from corral.checkpoint import AGAIN
from corral.inside.rank import STARTED

_TERMINATED = 128 + 15
_LINES = 60

# What ranks say that lost a peer; the peer is the one to name, even if it took longer to exit.
_PEER_LOST = re.compile(
    r"Connection (closed|reset) by (remote )?peer|Broken pipe|[Cc]onnection was likely closed|DistNetworkError"
    r"|ncclRemoteError|NCCL communicator was aborted|Watchdog caught collective operation timeout|Gloo.*[Tt]imed out"
)
_TORCH_PREFIX = re.compile(r"\[rank\d+\]: ?")  # torch.distributed puts it before tracebacks
_CHAINED = ("The above exception was the direct cause", "During handling of the above exception")


@dataclass(frozen=True, slots=True)
class Failure:
    """The rank to look at: its exit code, and its last traceback or else its last lines."""

    rank: int
    code: int
    words: str


@dataclass(frozen=True, slots=True)
class _Exit:
    rank: int
    code: int
    at: str  # seconds and nanoseconds, as text: a float would lose the latter


def failed_rank(folder: Path) -> Failure | None:
    """The rank of the unit in this folder that failed first; None if none did, or all were ended from outside."""
    failed = [end for end in _exits(folder) if end.code not in (0, AGAIN, _TERMINATED)]
    if not failed:
        return None
    words = {end.rank: _last_words(folder / "ranks" / f"{end.rank}.log") for end in failed}
    first = min(failed, key=lambda end: (bool(_PEER_LOST.search(words[end.rank])), end.at))
    return Failure(first.rank, first.code, words[first.rank])


def codes(folder: Path, ranks: range, since: float) -> list[int]:
    """Exit codes of those of the ranks that have ended since that time."""
    return [end.code for end in _exits(folder) if end.rank in ranks and float(end.at) >= since]


def _exits(folder: Path) -> list[_Exit]:
    found = []
    for path in (folder / "ranks").glob("*.exit"):
        code, at = path.read_text().split()
        found.append(_Exit(int(path.stem), int(code), at))
    return found


def _last_words(log: Path) -> str:
    text = log.read_text(errors="replace") if log.exists() else ""
    lines = [_TORCH_PREFIX.sub("", line, count=1) if line.startswith("[rank") else line for line in text.splitlines()]
    started = [number for number, line in enumerate(lines) if line.startswith(STARTED)]
    lines = lines[started[-1] + 1 :] if started else lines
    tracebacks = [number for number, line in enumerate(lines) if line.startswith("Traceback (most recent call last)")]
    begin = max(len(lines) - _LINES, 0)
    if tracebacks:
        begin = tracebacks.pop()
        while tracebacks and any(line.startswith(_CHAINED) for line in lines[tracebacks[-1] : begin]):
            begin = tracebacks.pop()
    return "\n".join(lines[begin:][-_LINES:])
