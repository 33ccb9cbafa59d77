"""Where the processes of a job's step meet that have no torch: by TCP, after one file that all of them see."""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path
from typing import Any, TextIO

_PATIENCE_S = 600.0
_SEEN_WITHIN_S = 90.0
"""NFS lets a client believe for a while that a file is not there."""


class Rally:
    """All processes of a step; each calls `gather` equally often."""

    def __init__(self, folder: Path, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        place = folder / "rally"
        self._lines: list[TextIO] = self._receive(place) if rank == 0 else [self._join(place)]

    def gather(self, value: Any = None) -> list[Any]:
        """Everybody's value by rank; nobody goes on before all are here."""
        if self.rank:
            _write(self._lines[0], value)
            return list(_read(self._lines[0]))
        values = [value, *(_read(line) for line in self._lines)]
        for line in self._lines:
            _write(line, values)
        return values

    def _receive(self, place: Path) -> list[TextIO]:
        name = os.environ.get("SLURMD_NODENAME") or socket.gethostname()
        lines: dict[int, TextIO] = {}
        with socket.create_server(("", 0), backlog=128) as server:
            server.settimeout(_SEEN_WITHIN_S)
            beside = place.with_suffix(".new")
            beside.write_text(json.dumps([name, server.getsockname()[1]]))
            beside.rename(place)
            while len(lines) < self.size - 1:
                connection, _ = server.accept()
                line = _line(connection)
                lines[int(_read(line))] = line
        place.unlink()
        return [lines[rank] for rank in sorted(lines)]

    def _join(self, place: Path) -> TextIO:
        deadline = time.monotonic() + _SEEN_WITHIN_S
        while not place.exists():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{place} of the first process is not seen here: is the folder shared?")
            # Listing the folder makes an NFS client ask again.
            list(place.parent.iterdir())
            time.sleep(0.1)
        line = _line(socket.create_connection(json.loads(place.read_text()), timeout=_SEEN_WITHIN_S))
        _write(line, self.rank)
        return line


def _line(connection: socket.socket) -> TextIO:
    connection.settimeout(_PATIENCE_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection.makefile("rw", encoding="utf-8")


def _write(line: TextIO, value: Any) -> None:
    line.write(json.dumps(value) + "\n")
    line.flush()


def _read(line: TextIO) -> Any:
    text = line.readline()
    if not text:
        raise ConnectionError("another process of the job has ended")
    return json.loads(text)
