"""Corral's own Python, seen read-only by every guest, so that jobs there can run what this machine runs.

An environment below a home or /opt is bound at its own path. The distribution's interpreter cannot be: the
guest has another C library, and its own Python under the same names. A small program in the environment then runs
this machine's interpreter with this machine's loader and libraries, which are bound below /run.
"""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
from pathlib import Path
from shlex import quote

from pydantic import BaseModel, ConfigDict

import corral

_USR = Path("/usr")
_MACHINE_USR = Path("/run/corral-host/usr")
_LOADERS = {"x86_64": "/lib64/ld-linux-x86-64.so.2", "aarch64": "/lib/ld-linux-aarch64.so.1"}


class Borrowed(BaseModel):
    """The distribution's interpreter, for guests that have none of that version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    interpreters: tuple[Path, ...]
    """The real one first, then the names that lead to it; a guest's own program of such a name stays."""
    environment: tuple[Path, ...]
    """Names in the environment's own folder that lead to it: each is the program in a guest."""
    program: str
    binds: tuple[tuple[Path, Path], ...]


class PythonView(BaseModel):
    """What to bind, and where: pairs of a path on this machine and one in the guest."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    binds: tuple[tuple[Path, Path], ...]
    borrowed: Borrowed | None


def this_python() -> PythonView:
    """The view of the interpreter that runs now, with its packages."""
    base = Path(sys.base_prefix)
    borrowed = _borrow() if base.is_relative_to(_USR) else None
    wanted = [Path(sys.prefix), base, Path(corral.__file__).resolve().parent.parent]
    covered = [target for _, target in borrowed.binds] if borrowed else []
    for path in wanted:
        # Never over the guest's own /usr or /usr/local, which hold its programs.
        own = path in (_USR, _USR / "local")
        if not own and not any(path.is_relative_to(other) for other in covered):
            covered.append(path)
    already = len(borrowed.binds) if borrowed else 0
    return PythonView(binds=tuple((path, path) for path in covered[already:]), borrowed=borrowed)


def _borrow() -> Borrowed:
    names = _names_of(Path(sys.executable))
    loader = Path(_LOADERS[platform.machine()]).resolve()
    libraries = ":".join(str(_from_machine(path)) for path in (loader.parent, _USR / "local/lib"))
    # The kernel hands a script the path it was called by: Python finds its environment from that.
    program = (
        "#!/bin/sh\n"
        f'exec {quote(str(_from_machine(loader)))} --argv0 "$0" --library-path {quote(libraries)} '
        f'{quote(str(_from_machine(names[0])))} "$@"\n'
    )
    standard_library = Path(sysconfig.get_path("stdlib"))
    return Borrowed(
        interpreters=tuple(names),
        environment=tuple(_names_in_environment(names[0])),
        program=program,
        binds=((_USR, _MACHINE_USR), (standard_library, standard_library)),
    )


def _names_of(executable: Path) -> list[Path]:
    """Every name under /usr on the way from the executable to the real interpreter, the real one first."""
    names = []
    while True:
        if executable.is_relative_to(_USR):
            names.append(executable)
        if not executable.is_symlink():
            return names[::-1]
        executable = Path(os.path.normpath(executable.parent / executable.readlink()))


def _names_in_environment(interpreter: Path) -> list[Path]:
    if sys.prefix == sys.base_prefix:
        return []
    return sorted(path for path in Path(sys.prefix, "bin").iterdir() if path.resolve() == interpreter)


def _from_machine(path: Path) -> Path:
    return _MACHINE_USR / path.relative_to(_USR)
