"""The provider of local machines: what an operator calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from corral.errors import InputError, ProviderError
from corral.hosts.machine import Machine
from corral.hosts.netns import connect_inside
from corral.providers.local import network
from corral.providers.local.cgroups import Cgroup
from corral.providers.local.control import Converge, Fault, GuestStatus, Limit, Plan, Status, ask
from corral.providers.local.image import OnProgress, ensure_image
from corral.providers.local.launch import ensure_supervisor
from corral.providers.local.python_view import PythonView, this_python
from corral.providers.local.recipe import Contents, Init, Recipe
from corral.providers.local.requirements import check_packages, check_root
from corral.providers.local.store import Store
from corral.spec.model import LocalSpec

_BOOT_TIMEOUT_S = 90.0
_DOWN_TIMEOUT_S = 30.0
_POLL_S = 0.05


class LocalMachines:
    """The machines of one local cluster. Its state is in `directory` and the kernel, never in here.

    `init="none"` makes machines like rented pods: sshd runs on them and no systemd. `contents="bare"` makes
    machines as an owner has them: a fresh Debian without any of Slurm's packages.
    """

    def __init__(
        self,
        directory: Path,
        cache: Path,
        cluster: str,
        spec: LocalSpec,
        *,
        init: Init = "systemd",
        contents: Contents = "slurm",
    ) -> None:
        self._directory = directory.absolute()
        self._cache = cache.absolute()
        self._cluster = cluster
        self._spec = spec
        self._recipe = Recipe(spec.release, init, contents)
        self._store = Store(self._directory)

    async def up(self, names: Sequence[str], on_progress: OnProgress) -> list[Machine]:
        """Make exactly these machines run, and return when each of them answers SSH.

        What runs is kept, what is off is booted, what is frozen or unplugged is set right, what is no longer
        named is removed with its disk. It may be interrupted anywhere: calling it again continues.
        """
        check_root()
        check_packages()
        self._check(names)
        image = await self._image(on_progress)
        plan = Plan(
            guests=await self._store.prepare(names),
            image=image,
            init=self._recipe.init,
            gpus=self._spec.gpus,
            gpu_type=self._spec.gpu_type,
            link=self._spec.link,
            authorized_key=self._store.authorized_key,
            python=self._python(),
        )
        self._store.save(plan)
        on_progress(f"booting {', '.join(names)}")
        await ensure_supervisor(self._cluster, self._directory)
        await ask(self._directory, Converge(plan=plan))
        machines = self.machines()
        if not machines:
            raise ProviderError(f"the supervisor of {self._cluster} ended while its machines booted")
        await self._wait_for_ssh(machines, on_progress)
        return machines

    def _python(self) -> PythonView:
        """What a bare machine gets of its distribution must not meet what this computer's would lend it."""
        view = this_python()
        return view if self._recipe.contents == "slurm" else view.model_copy(update={"borrowed": None})

    def machines(self) -> list[Machine]:
        """The machines, if the cluster is up; looks only, and changes nothing."""
        plan = self._store.plan()
        pid = self._cgroup.supervisor()
        if plan is None or pid is None:
            return []
        return [
            Machine(
                name=guest.name,
                address=network.address(guest.index),
                identity_file=self._store.identity_file,
                host_key=self._store.host_key(guest),
                network_namespace=Path(f"/proc/{pid}/ns/net"),
            )
            for guest in plan.guests
        ]

    async def down(self) -> None:
        """End every process of the cluster and delete its directory, whatever state it is in."""
        check_root()
        if not await self._cgroup.end(_DOWN_TIMEOUT_S):
            raise ProviderError(f"{self._cluster}: processes do not end, or cgroups stay, in {self._cgroup.path}")
        await asyncio.to_thread(self._store.delete)

    async def status(self) -> list[GuestStatus]:
        """How each machine is, as its supervisor sees it; empty when the cluster is not up."""
        if self._cgroup.supervisor() is None:
            return []
        return list((await ask(self._directory, Status())).guests)

    async def power_off(self, name: str) -> None:
        """Pull the machine's cord: nothing on it gets to say goodbye."""
        await ask(self._directory, Fault(do="power_off", name=name))

    async def power_on(self, name: str) -> None:
        """Switch the machine on; it boots from its disk as it was left. Does not wait for it."""
        await ask(self._directory, Fault(do="power_on", name=name))

    async def freeze(self, name: str) -> None:
        """Let the machine hang: its kernel still answers pings, no process of it answers anything."""
        await ask(self._directory, Fault(do="freeze", name=name))

    async def thaw(self, name: str) -> None:
        """Let a frozen machine go on where it stopped."""
        await ask(self._directory, Fault(do="thaw", name=name))

    async def unplug(self, name: str) -> None:
        """Pull the machine's network cable; it stays out across reboots."""
        await ask(self._directory, Fault(do="unplug", name=name))

    async def plug(self, name: str) -> None:
        """Put the network cable back."""
        await ask(self._directory, Fault(do="plug", name=name))

    async def limit(self, name: str, rate: str | None) -> None:
        """Let the machine's link carry only so much, such as `100mbit`; None puts it right again, as `up` does."""
        await ask(self._directory, Limit(name=name, rate=rate))

    @property
    def _cgroup(self) -> Cgroup:
        return Cgroup.of_cluster(self._cluster)

    def _check(self, names: Sequence[str]) -> None:
        if not 1 <= len(names) <= network.MAX_GUESTS or len(set(names)) != len(names):
            raise InputError(f"a local cluster has 1 to {network.MAX_GUESTS} machines with different names")
        for path in (self._directory, self._cache):
            # The supervisor has a /run of its own; the others separate the layers of an overlay mount.
            if path.is_relative_to("/run") or set(str(path)) & set(":,\\"):
                raise InputError(f"{path}: machines cannot be kept below /run or in a path with : or , or \\")

    async def _image(self, on_progress: OnProgress) -> Path:
        """The image of the machines that exist, or else the one of the current recipe."""
        plan = self._store.plan()
        if plan is None:
            return await ensure_image(self._recipe, self._cache, on_progress)
        # A disk holds only what differs from its image, so it can never be put on another one.
        same_kind = plan.image.name.rpartition("-")[0] == self._recipe.name.rpartition("-")[0]
        if not same_kind or not plan.image.is_dir():
            raise InputError(
                f"{self._cluster}: its machines were made from {plan.image.name}, which is "
                f"{'gone' if same_kind else 'not what is wanted now'}. Try: corral down, then corral up"
            )
        return plan.image

    async def _wait_for_ssh(self, machines: Sequence[Machine], on_progress: OnProgress) -> None:
        waiting = [asyncio.ensure_future(self._answers_ssh(machine)) for machine in machines]
        try:
            for done in asyncio.as_completed(waiting):
                on_progress(f"{await done} is up")
        finally:
            for one in waiting:
                one.cancel()

    async def _answers_ssh(self, machine: Machine) -> str:
        deadline = time.monotonic() + _BOOT_TIMEOUT_S
        while not await asyncio.to_thread(_has_banner, machine):
            state = {guest.name: guest for guest in await self.status()}.get(machine.name)
            if state is None or not state.powered or time.monotonic() > deadline:
                why = (state.error if state else None) or f"no SSH at {machine.address}"
                console = self._store.console(machine.name)
                raise ProviderError(f"{machine.name} did not boot: {why}\nIts console ends with:\n{console}")
            await asyncio.sleep(_POLL_S)
        return machine.name


def _has_banner(machine: Machine) -> bool:
    assert machine.network_namespace is not None
    try:
        with connect_inside(machine.network_namespace, machine.address, machine.port, 1.0) as connection:
            connection.settimeout(2.0)
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False
