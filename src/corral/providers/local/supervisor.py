"""The process that holds a local cluster: `python -m corral.providers.local.supervisor CLUSTER DIRECTORY`.

It runs inside namespaces made for it (see `launch.py`) and boots the guests there. When it ends, however it
ends, the kernel ends everything else in them: processes, mounts, interfaces.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import socket
import sys
from pathlib import Path

from corral.errors import ProviderError
from corral.providers.local import network
from corral.providers.local.cgroups import (
    SUPERVISOR_LEAF,
    Cgroup,
    Hierarchy,
    enable_controllers,
    legacy_mounts,
)
from corral.providers.local.commands import must
from corral.providers.local.control import Converge, Fault, Limit, Plan, Reply, Request, serve
from corral.providers.local.guest import Guest

_UNIFIED = Path("/sys/fs/cgroup")
_LEGACY = Path("/run/cgroup-v1")
_UPLINK_RETRY_S = 5.0


class Supervisor:
    """Holds the guests and does what the operator asks, one request at a time."""

    def __init__(self, directory: Path, hierarchies: list[Hierarchy]) -> None:
        self._directory = directory
        self._legacy = tuple(hierarchy.mount for hierarchy in hierarchies)
        self._guests: dict[str, Guest] = {}
        self._one_at_a_time = asyncio.Lock()

    async def handle(self, request: Request) -> Reply:
        if isinstance(request, Converge):
            async with self._one_at_a_time:
                await self._converge(request.plan)
        elif isinstance(request, Fault):
            async with self._one_at_a_time:
                await self._fault(request)
        elif isinstance(request, Limit):
            async with self._one_at_a_time:
                await self._guest(request.name).limit(request.rate)
        return Reply(guests=tuple(guest.status() for guest in self._guests.values()))

    async def _converge(self, plan: Plan) -> None:
        for guest in [guest for guest in self._guests.values() if guest.identity not in plan.guests]:
            await guest.remove()
            del self._guests[guest.identity.name]
        # Disks of machines that only an earlier supervisor knew.
        homes = {identity.home(self._directory) for identity in plan.guests}
        for home in set((self._directory / "machines").iterdir()) - homes:
            await asyncio.to_thread(shutil.rmtree, home)
        for identity in plan.guests:
            if identity.name not in self._guests:
                cgroup = self._cgroup(identity.short_name)
                self._guests[identity.name] = Guest(identity, plan, self._directory, cgroup)
            await self._guests[identity.name].follow(plan)

    async def _fault(self, request: Fault) -> None:
        guest = self._guest(request.name)
        if request.do == "power_off":
            await guest.power_off()
        elif request.do == "power_on":
            await guest.power_on()
        elif request.do in ("freeze", "thaw"):
            guest.freeze(request.do == "freeze")
        else:
            await guest.plug(request.do == "plug")

    def _guest(self, name: str) -> Guest:
        guest = self._guests.get(name)
        if guest is None:
            known = ", ".join(self._guests) or "none"
            raise ProviderError(f"no machine is called {name}; there is: {known}")
        return guest

    def _cgroup(self, name: str) -> Cgroup:
        return Cgroup(_UNIFIED / name, tuple(mount / name for mount in self._legacy))


async def _mount_views(hierarchies: list[Hierarchy]) -> list[Hierarchy]:
    """Mount what guests need to see: our own sysfs, cgroups from the cluster's downwards, an empty /run."""
    await must("mount", "-t", "sysfs", "-o", "nosuid,nodev,noexec", "sysfs", "/sys")
    await must("mount", "-t", "cgroup2", "-o", "nosuid,nodev,noexec", "cgroup2", str(_UNIFIED))
    await must("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
    mounted = []
    for hierarchy in hierarchies:
        controllers = ",".join(hierarchy.controllers)
        view = Hierarchy(hierarchy.controllers, _LEGACY / controllers)
        view.mount.mkdir(parents=True)
        options = f"nosuid,nodev,noexec,{controllers}"
        await must("mount", "-t", "cgroup", "-o", options, "cgroup", str(view.mount))
        mounted.append(view)
    # Processes may sit only in leaves, or the controllers cannot be handed down to the guests.
    (_UNIFIED / SUPERVISOR_LEAF / "cgroup.procs").write_text("1")
    (_UNIFIED / SUPERVISOR_LEAF / "cgroup.procs").write_text("0")
    enable_controllers(_UNIFIED)
    return mounted


async def _keep_uplink(log: Path) -> None:
    """Guests go without the world while slirp4netns is down, and work otherwise."""
    while True:
        process = await network.open_uplink(log)
        await process.wait()
        await asyncio.sleep(_UPLINK_RETRY_S)


async def _main(cluster: str, directory: Path) -> None:
    lock = os.open(directory / "supervisor.lock", os.O_RDWR | os.O_CREAT, 0o600)
    # Held until this process ends; a second supervisor of the same cluster stops here.
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    socket.sethostname(f"corral-{cluster}")
    hierarchies = await _mount_views(legacy_mounts())
    await network.build()
    uplink = asyncio.create_task(_keep_uplink(directory / "uplink.log"))
    server = await serve(directory, Supervisor(directory, hierarchies).handle)
    async with server:
        await uplink


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], Path(sys.argv[2])))
