"""Control groups: one holds every process of a cluster, one below it every process of a guest.

Machines are either unified (cgroup v2 alone) or hybrid (v2 without controllers, beside v1 hierarchies). Both
kinds can end, freeze and count processes through v2; on hybrid ones the v1 controllers do the confining.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from corral.errors import ProviderError

SUPERVISOR_LEAF = "supervisor"
_V2_CONTROLLERS = ("cpuset", "cpu", "memory", "pids")
_V1_CONTROLLERS = frozenset(("memory", "cpuset", "cpu", "cpuacct", "devices", "freezer"))
_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A mounted v1 hierarchy: some machines mount `cpu` and `cpuacct` as one."""

    controllers: tuple[str, ...]
    mount: Path


def unified_mount() -> Path:
    """Where cgroup v2 is mounted on this machine."""
    for _, target, kind, _ in _mounts():
        if kind == "cgroup2":
            return Path(target)
    raise ProviderError("this machine has no cgroup v2 mounted; local clusters need it to hold their processes")


def legacy_mounts() -> list[Hierarchy]:
    """The v1 hierarchies that Slurm confines jobs with; none on a unified machine."""
    found = []
    for _, target, kind, options in _mounts():
        controllers = tuple(sorted(_V1_CONTROLLERS & set(options.split(","))))
        if kind == "cgroup" and controllers:
            found.append(Hierarchy(controllers, Path(target)))
    return found


def enable_controllers(cgroup: Path) -> None:
    """Hand the controllers that are here down to the children; a hybrid machine has none of them here."""
    available = (cgroup / "cgroup.controllers").read_text().split()
    wanted = [f"+{controller}" for controller in _V2_CONTROLLERS if controller in available]
    try:
        (cgroup / "cgroup.subtree_control").write_text(" ".join(wanted))
    except OSError as problem:
        raise ProviderError(f"{cgroup}: cannot hand down {' '.join(wanted)}: {problem.strerror}") from problem


@dataclass(frozen=True, slots=True)
class Cgroup:
    """One cgroup in v2 and its namesakes in the v1 hierarchies, as seen by whoever holds this object."""

    path: Path
    legacy: tuple[Path, ...]

    @classmethod
    def of_cluster(cls, cluster: str) -> Cgroup:
        name = f"corral-{cluster}"
        return cls(unified_mount() / name, tuple(each.mount / name for each in legacy_mounts()))

    def create(self, children: Sequence[str] = ()) -> None:
        """Make the directories, so that processes can enter; existing ones are fine."""
        enable_controllers(self.path.parent)
        for directory in (*self.legacy, self.path, *(self.path / child for child in children)):
            directory.mkdir(exist_ok=True)
        for directory in self.legacy:
            # A v1 cpuset takes nobody in before it has processors and memory of its own.
            for given in ("cpuset.cpus", "cpuset.mems"):
                if (directory / given).exists() and not (directory / given).read_text().strip():
                    (directory / given).write_text((directory.parent / given).read_text())
            if (directory / "cpuset.cpus").exists():
                (directory / "cgroup.clone_children").write_text("1")

    @property
    def entrances(self) -> tuple[Path, ...]:
        """The files a process writes 0 to in order to enter."""
        return tuple(each / "cgroup.procs" for each in (self.path, *self.legacy))

    @property
    def populated(self) -> bool:
        try:
            return "populated 1" in (self.path / "cgroup.events").read_text()
        except FileNotFoundError:
            return False

    @property
    def frozen(self) -> bool:
        try:
            return (self.path / "cgroup.freeze").read_text().strip() == "1"
        except FileNotFoundError:
            return False

    def freeze(self, frozen: bool) -> None:
        (self.path / "cgroup.freeze").write_text("1" if frozen else "0")

    def kill(self) -> None:
        """SIGKILL to every process in it and below, at once: none can fork away."""
        with suppress(FileNotFoundError):
            (self.path / "cgroup.kill").write_text("1")

    async def end(self, timeout_s: float) -> bool:
        """Kill until nobody is left and no directory either; False when that did not work in time."""
        deadline = time.monotonic() + timeout_s
        while True:
            if self.populated:
                self.kill()
            elif self._remove():
                return True
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(_POLL_S)

    def _remove(self) -> bool:
        for top in (self.path, *self.legacy):
            for directory, _, _ in os.walk(top, topdown=False):
                # Busy for a moment after the last process ended: the caller comes back.
                with suppress(OSError):
                    os.rmdir(directory)  # noqa: PTH106 (os.walk speaks strings)
        return not any(top.exists() for top in (self.path, *self.legacy))

    def supervisor(self) -> int | None:
        """The pid of the process that is PID 1 of the cluster's namespaces: alive now, and in this cgroup."""
        first = [pid for pid in _pids(self.path / SUPERVISOR_LEAF) if _is_init(pid)]
        return min(first, key=_start_time, default=None)


def _mounts() -> Iterator[tuple[str, str, str, str]]:
    for line in Path("/proc/self/mounts").read_text().splitlines():
        source, target, kind, options = line.split()[:4]
        yield source, target, kind, options


def _pids(cgroup: Path) -> list[int]:
    try:
        return [int(pid) for pid in (cgroup / "cgroup.procs").read_text().split()]
    except OSError:
        return []


def _is_init(pid: int) -> bool:
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("NSpid:"):
                pids = line.split()[1:]
                return len(pids) > 1 and pids[-1] == "1"
    except OSError:
        pass
    return False


def _start_time(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except OSError:
        return 1 << 62
