"""One guest: its disk, its cable, its cgroup, and the loop that boots it until it is switched off."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path
from shlex import quote

from corral.errors import CorralError, ProviderError
from corral.hosts.local import spawn
from corral.providers.local import network
from corral.providers.local.cgroups import Cgroup
from corral.providers.local.commands import must
from corral.providers.local.control import GuestPlan, GuestStatus, Plan
from corral.providers.local.furnish import (
    INTERPRETERS,
    environment_folder,
    furnish_boot,
    furnish_once,
    gpu_devices,
    python_binds,
)

# What nspawn exits with when the guest's own systemd asked for a reboot: the restart is left to us.
_REBOOT = 133
_END_TIMEOUT_S = 20.0
_KILL_POLL_S = 0.02
# Without these the inner systemd and Slurm silently ignore device policies: BPF programs enforce them.
_SYSTEM_POWERS = (
    "--capability=CAP_NET_ADMIN,CAP_BPF,CAP_PERFMON,CAP_SYSLOG,CAP_IPC_LOCK",
    "--system-call-filter=bpf",
)
# A rented pod may not touch its network.
_POD_LIMITS = ("--drop-capability=CAP_NET_ADMIN",)


class Guest:
    """A machine as its supervisor holds it. Powering on and off is safe to repeat."""

    def __init__(self, identity: GuestPlan, plan: Plan, directory: Path, cgroup: Cgroup) -> None:
        self.identity = identity
        self._plan = plan
        self._home = identity.home(directory)
        self._shared = directory / "shared"
        self._cgroup = cgroup
        self._cable = network.Cable(identity.short_name, identity.index)
        self._running: asyncio.Task[None] | None = None
        self._pulled = False
        self._boots = 0
        self._error: str | None = None

    def status(self) -> GuestStatus:
        return GuestStatus(
            name=self.identity.name,
            powered=self._powered,
            frozen=self._cgroup.frozen,
            plugged=self._cable.plugged,
            boots=self._boots,
            error=self._error,
        )

    async def follow(self, plan: Plan) -> None:
        """Run as the plan says: the link's rate changes at once, the rest at the next boot."""
        self._plan = plan
        await self._cable.limit(plan.link)
        await self._cable.plug(True)
        if self._cgroup.frozen:
            self._cgroup.freeze(False)
        await self.power_on()

    async def power_on(self) -> None:
        if not self._powered:
            self._pulled = False
            self._running = asyncio.create_task(self._live())

    async def power_off(self) -> None:
        """Pull the cord: every process of the guest ends at once, nothing is written or said goodbye to."""
        self._pulled = True
        while self._running is not None and not self._running.done():
            self._cgroup.kill()
            await asyncio.wait([self._running], timeout=_KILL_POLL_S)

    def freeze(self, frozen: bool) -> None:
        if not self._powered:
            raise ProviderError(f"{self.identity.name} is off")
        self._cgroup.freeze(frozen)

    async def plug(self, plugged: bool) -> None:
        await self._cable.plug(plugged)

    async def limit(self, rate: str | None) -> None:
        """Another rate than the plan's, until it is followed again."""
        await self._cable.limit(rate or self._plan.link)

    async def remove(self) -> None:
        await self.power_off()
        await asyncio.to_thread(shutil.rmtree, self._home)

    @property
    def _powered(self) -> bool:
        return self._running is not None and not self._running.done()

    async def _live(self) -> None:
        self._error = None
        (self._home / "console.log").write_bytes(b"")
        try:
            while await self._boot() == _REBOOT and not self._pulled:
                pass
        except (CorralError, OSError) as problem:
            self._error = str(problem)

    async def _boot(self) -> int | None:
        """From power-on to power-off or reboot; every boot starts from a fresh namespace and cgroup."""
        root = self._home / "root"
        await self._clear(root)
        try:
            self._cgroup.create()
            static = network.address(self.identity.index) if self._plan.init == "none" else None
            await self._cable.lay(static)
            await self._mount(root)
            if self._pulled:
                return None
            process = await spawn(["sh", "-ec", self._script(root)], self._home / "console.log")
            self._boots += 1
            return await process.wait()
        finally:
            await self._clear(root)

    async def _mount(self, root: Path) -> None:
        for directory in (root, self._home / "upper", self._home / "work"):
            directory.mkdir(exist_ok=True)
        layers = f"lowerdir={self._plan.image},upperdir={self._home / 'upper'},workdir={self._home / 'work'}"
        await must("mount", "-t", "overlay", "-o", layers, "overlay", str(root))
        furnished = self._home / "furnished"
        if not furnished.exists():
            furnish_once(root, self.identity, self._plan, self._home)
            furnished.touch()
        furnish_boot(root, self.identity, self._plan, self._home)

    async def _clear(self, root: Path) -> None:
        if not await self._cgroup.end(_END_TIMEOUT_S):
            raise ProviderError(f"{self.identity.name}: processes or cgroups remain in {self._cgroup.path}")
        if root.is_mount():
            await must("umount", str(root))
        await self._cable.take_away()

    def _script(self, root: Path) -> str:
        """Enter the cgroups, give the guest clocks that start now, and become nspawn."""
        enter = "".join(f"echo 0 > {quote(str(entrance))}\n" for entrance in self._cgroup.entrances)
        # Slurm tells a reboot by the boot time, which all guests would otherwise share with this machine.
        uptime_s = int(time.clock_gettime(time.CLOCK_BOOTTIME))
        clocks = f"unshare --time --boottime -{uptime_s} --monotonic -{int(time.monotonic())}"
        return f"{enter}exec {clocks} {' '.join(quote(word) for word in self._nspawn(root))}\n"

    def _nspawn(self, root: Path) -> list[str]:
        argv = [
            *("systemd-nspawn", f"--directory={root}", f"--machine={self.identity.short_name}"),
            f"--hostname={self.identity.name}",
            *("--settings=no", "--register=no", "--keep-unit", "--console=read-only"),
            *("--resolv-conf=off", "--timezone=off", "--link-journal=no"),
            f"--network-namespace-path={self._cable.namespace}",
            f"--bind={self._shared}:/shared",
            *(f"--bind-ro={_colons(source)}:{_colons(target)}" for source, target in python_binds(self._plan)),
        ]
        if (folder := environment_folder(self._plan)) is not None:
            layers = (folder, self._home / INTERPRETERS, folder)
            argv.append(f"--overlay-ro={':'.join(_colons(layer) for layer in layers)}")
        if self._plan.init == "none":
            return [*argv, *_POD_LIMITS, "--as-pid2", "/bin/sh", "-c", _pod_init(self._plan)]
        for entrance in self._cgroup.legacy:
            for controller in entrance.parent.name.split(","):
                argv.append(f"--bind={_colons(entrance)}:/cgroup-v1/{controller}")
        return [*argv, *_SYSTEM_POWERS, "--boot"]


def _pod_init(plan: Plan) -> str:
    """All the init that a rented pod has: devices were given, sshd runs, nothing else does."""
    nodes = "".join(f"mknod -m 666 {path} c {major} {minor}; " for path, major, minor in gpu_devices(plan))
    return f"{nodes}mkdir -p /run/sshd; exec /usr/sbin/sshd -D -e"


def _colons(path: Path) -> str:
    return str(path).replace(":", "\\:")
