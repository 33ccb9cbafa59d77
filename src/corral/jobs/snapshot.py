"""A snapshot of the working folder: the files as they are now, however the folder changes while the job waits.

Snapshots are named by their content, so the same files are sent only once.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import tarfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from corral.errors import InputError
from corral.jobs.folder_files import IGNORE_FILE, files_of

_MOST_BYTES = 256 * 1024**2
_MOST_FILES = 20_000


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files that belong to a working folder, and the name of their content."""

    folder: Path
    files: tuple[str, ...]
    digest: str
    size_bytes: int

    def packed(self) -> bytes:
        """All files as a compressed archive; only names, content and whether they can be run are kept."""
        raw = io.BytesIO()
        with (
            gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=1, mtime=0) as zipped,
            tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for name in self.files:
                archive.add(self.folder / name, name, recursive=False, filter=_anonymous)
        return raw.getvalue()


async def take(folder: Path) -> Snapshot:
    """Look at a folder; nothing is copied yet."""
    files = tuple(await files_of(folder))
    try:
        sizes = {name: (folder / name).lstat().st_size for name in files}
        if sum(sizes.values()) > _MOST_BYTES or len(files) > _MOST_FILES:
            raise InputError(_too_much(folder, sizes))
        return Snapshot(folder, files, _digest(folder, files), sum(sizes.values()))
    except OSError as problem:
        raise InputError(
            f"{problem.filename} cannot be sent with the job: {problem.strerror}. Try: list it in {IGNORE_FILE}"
        ) from problem


def _digest(folder: Path, files: tuple[str, ...]) -> str:
    whole = hashlib.sha256()
    for name in files:
        path = folder / name
        mode = path.lstat().st_mode
        content = os.fsencode(path.readlink()) if stat.S_ISLNK(mode) else path.read_bytes()
        kind = "link" if stat.S_ISLNK(mode) else "run" if mode & 0o100 else "file"
        head = f"{name}\0{kind}\0{len(content)}\0"
        whole.update(head.encode(errors="surrogateescape") + content)
    return whole.hexdigest()[:20]


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = 0
    entry.mode = 0o755 if entry.mode & 0o100 else 0o644
    return entry


def _too_much(folder: Path, sizes: dict[str, int]) -> str:
    parts: Counter[str] = Counter()
    for name, size in sizes.items():
        parts[name.partition("/")[0]] += size
    biggest = ", ".join(f"{name} ({size / 1024**2:.0f} MiB)" for name, size in parts.most_common(3))
    return (
        f"{folder} is too much to send with a job: {len(sizes)} files, {sum(sizes.values()) / 1024**2:.0f} MiB, most "
        f"of it in {biggest}. Try: list what the job does not need in {IGNORE_FILE}, keep data on shared storage, "
        "or run without the folder: --no-folder"
    )
