"""Which files of a working folder belong to it.

Git decides, in a repository or not: `.gitignore` and `.corralignore` are respected, `.git` itself stays out.
Repositories inside the folder, submodules among them, are asked in the same way.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePath

from corral.errors import InputError
from corral.hosts.local import run

IGNORE_FILE = ".corralignore"
# What nobody means to send, where there is no repository that knows better.
_NEVER = (".git", ".hg", ".svn", "__pycache__", ".venv", "venv", "node_modules", ".mypy_cache", ".pytest_cache")


async def files_of(folder: Path) -> list[str]:
    """Their names, relative to the folder and in order; links count as files."""
    if shutil.which("git") is None:
        if (folder / IGNORE_FILE).is_file():
            raise InputError(f"{folder / IGNORE_FILE} cannot be followed without git. Try: install git, or --no-folder")
        return sorted(_walk(folder))
    with tempfile.TemporaryDirectory(prefix="corral-") as empty:
        listed = await _listed(folder, empty)
    names: set[str] = set()
    links: set[str] = set()
    for entry in listed:
        path = folder / entry
        if path.is_symlink():
            links.add(entry)
        elif path.is_file():
            names.add(entry)
        elif (path / ".git").exists():
            names.update(str(PurePath(entry, name)) for name in await files_of(path))
    # Git still knows the files of a folder that has become a link; they are somewhere else now.
    return sorted(links | {name for name in names if links.isdisjoint(map(str, PurePath(name).parents))})


async def _listed(folder: Path, empty: str) -> set[str]:
    """What git lists: files that may be gone, and folders that are repositories of their own."""
    git = ["git", "-C", str(folder), "-c", "core.quotePath=true"]
    standard = ["--exclude-standard"]
    if not (await run([*git, "rev-parse", "--git-dir"], timeout_s=20)).ok:
        await run(["git", "init", "-q", "--bare", empty], timeout_s=20)
        git += [f"--git-dir={empty}", f"--work-tree={folder}"]
        standard += [f"--exclude={name}" for name in _NEVER]
    found = await _ls_files(folder, [*git, "ls-files", "--cached", "--others", *standard])
    if (folder / IGNORE_FILE).is_file():
        # Tracked files stay listed whatever is excluded, but what Corral is told to ignore, it ignores.
        ignored = ["ls-files", "--cached", "--others", "--ignored", f"--exclude-per-directory={IGNORE_FILE}"]
        found -= await _ls_files(folder, [*git, *ignored])
    return found


async def _ls_files(folder: Path, argv: list[str]) -> set[str]:
    done = await run(argv, timeout_s=120)
    if not done.ok:
        raise InputError(f"git cannot list the files of {folder}: {done.last_words(1)}")
    return {_unquoted(line) for line in done.stdout.split("\n") if line}


def _unquoted(name: str) -> str:
    """Git writes all that is not plain ASCII as a C string, of which the bytes are the name."""
    if not name.startswith('"'):
        return name
    return os.fsdecode(name[1:-1].encode().decode("unicode_escape").encode("latin-1"))


def _walk(folder: Path) -> Iterator[str]:
    for here, folders, names in os.walk(folder):
        links = [name for name in folders if Path(here, name).is_symlink()]
        folders[:] = set(folders).difference(_NEVER, links)
        for path in (Path(here, name) for name in [*names, *links]):
            if path.is_symlink() or path.is_file():
                yield str(path.relative_to(folder))
