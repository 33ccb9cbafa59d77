"""Files that are whole or not there, whatever dies while they are written."""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import socket
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

_BLOCK_BYTES = 1 << 20
_NAME = re.compile(r"(?P<number>\d{10})\.(?P<sum>[0-9a-f]{8})(?P<rank>\.rank\d+)?\.(?P<format>pt|pkl)")
_UNFINISHED = ".writing-"


@dataclass(frozen=True, slots=True)
class Saved:
    """A checkpoint file. Its name holds the checksum, so one rename makes both valid and torch.load can read it."""

    path: Path
    number: int
    sum: str

    def is_whole(self) -> bool:
        """Whether the content is what was meant to be written."""
        total = 0
        try:
            with self.path.open("rb") as file:
                while block := file.read(_BLOCK_BYTES):
                    total = zlib.crc32(block, total)
        except OSError:
            return False
        return f"{total:08x}" == self.sum

    def load(self) -> Any:
        """The object. Everything comes to the CPU first, so that ranks do not meet on the first GPU."""
        with self.path.open("rb") as file:
            if self.path.suffix == ".pkl":
                return pickle.load(file)  # noqa: S301 (the user's own file, in the user's own folder)
            import torch  # type: ignore[import-not-found,unused-ignore]  # only where the script has it

            return torch.load(file, map_location="cpu", weights_only=False)


def saved_in(folder: Path) -> list[Saved]:
    """All checkpoints there, newest first, whole or not."""
    found = []
    for path in folder.iterdir() if folder.is_dir() else ():
        if (match := _NAME.fullmatch(path.name)) and not match["rank"]:
            found.append(Saved(path, int(match["number"]), match["sum"]))
    return sorted(found, key=lambda saved: saved.number, reverse=True)


def part(path: Path) -> Saved | None:
    """The part of a checkpoint that one rank has written, by its name."""
    match = _NAME.fullmatch(path.name)
    return Saved(path, int(match["number"]), match["sum"]) if match else None


def save(folder: Path, number: int, value: Any, rank: int | None = None) -> Saved:
    """Write one checkpoint, or a rank's part of one; it gets its name when it is on the disk."""
    whose = "" if rank is None else f".rank{rank}"
    torch: Any = sys.modules.get("torch")
    total = ""

    def write(file: BinaryIO) -> str:
        nonlocal total
        summing = _Summing(file)
        if torch is None:
            pickle.dump(value, summing, protocol=5)
        else:
            torch.save(value, summing, pickle_protocol=5)
        total = f"{summing.total:08x}"
        return f"{number:010}.{total}{whose}.{'pkl' if torch is None else 'pt'}"

    return Saved(replace(folder, write), number, total)


def keep_only(folder: Path, kept: list[Saved], parts: set[str]) -> None:
    """Remove other checkpoints, with their parts, and what killed writers left behind."""
    names = parts | {saved.path.name for saved in kept}
    for path in folder.iterdir():
        if path.name not in names and (_NAME.fullmatch(path.name) or path.name.startswith(_UNFINISHED)):
            path.unlink(missing_ok=True)


def replace(folder: Path, write: Callable[[BinaryIO], str]) -> Path:
    """Let `write` fill a new file and name it; it then takes the place of an old one of that name at once."""
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f"{_UNFINISHED}{socket.gethostname()}-{os.getpid()}"
    try:
        with unfinished.open("wb") as file:
            path = folder / write(file)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    _sync(folder)
    return path


def _sync(folder: Path) -> None:
    """Make a rename survive a power cut, where the file system can."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):  # some network file systems cannot
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


class _Summing:
    """Passes bytes on to a file and keeps their checksum, so that a checkpoint is not read again to have one."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.total = 0

    def write(self, block: Any) -> int:
        self.total = zlib.crc32(block, self.total)
        return self._file.write(block)

    def flush(self) -> None:
        self._file.flush()
