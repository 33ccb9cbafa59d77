"""A snapshot of the working folder: the files as they are now, however the folder changes while the job waits.

Git decides what belongs to it, in a repository or not: `.gitignore` and `.corralignore` are respected, `.git`
itself stays out. Snapshots are named by their content, so the same files are sent only once.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import stat
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from corral.errors import InputError
from corral.hosts.local import run

IGNORE_FILE = ".corralignore"
_MOST_BYTES = 256 * 1024**2
_MOST_FILES = 20_000
# What nobody means to send, where there is no git to ask.
_NEVER = {".git", ".hg", ".svn", "__pycache__", ".venv", "venv", "node_modules", ".mypy_cache", ".pytest_cache"}


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
    files = tuple(sorted(await _listed(folder)))
    sizes = {name: (folder / name).lstat().st_size for name in files}
    if sum(sizes.values()) > _MOST_BYTES or len(files) > _MOST_FILES:
        raise InputError(_too_much(folder, sizes))
    return Snapshot(folder, files, _digest(folder, files), sum(sizes.values()))


async def _listed(folder: Path) -> list[str]:
    if shutil.which("git") is None:
        return list(_walk(folder, folder))
    inside = await run(["git", "-C", str(folder), "rev-parse", "--git-dir"], timeout_s=20)
    with tempfile.TemporaryDirectory(prefix="corral-") as empty:
        repository = []
        if not inside.ok:
            await run(["git", "init", "-q", "--bare", empty], timeout_s=20)
            repository = [f"--git-dir={empty}", f"--work-tree={folder}"]
        ignored = [f"--exclude-from={folder / IGNORE_FILE}"] if (folder / IGNORE_FILE).is_file() else []
        listing = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", *ignored]
        done = await run(["git", "-C", str(folder), *repository, *listing], timeout_s=60)
    if not done.ok:
        raise InputError(f"git cannot list the files of {folder}: {done.last_words(1)}")
    tracked = set(done.stdout.split("\0")) - {""}
    if ignored:
        # Tracked files stay listed whatever is excluded, but what Corral is told to ignore, it ignores.
        told = await run(
            ["git", "-C", str(folder), *repository, "ls-files", "-z", "--cached", "--ignored", *ignored], timeout_s=60
        )
        tracked -= set(told.stdout.split("\0"))
    return [name for entry in tracked for name in _files_of(folder, entry)]


def _files_of(folder: Path, entry: str) -> Iterator[str]:
    """A listed name as files: one that was deleted is none, a repository inside the folder is all of its own."""
    path = folder / entry
    if path.is_dir() and not path.is_symlink():
        yield from _walk(path, folder)
    elif path.is_symlink() or path.is_file():
        yield entry


def _walk(top: Path, folder: Path) -> Iterator[str]:
    for here, folders, names in os.walk(top):
        folders[:] = sorted(set(folders) - _NEVER)
        for name in names:
            path = Path(here, name)
            if path.is_symlink() or path.is_file():
                yield str(path.relative_to(folder))


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
