"""The provider of local machines: what an operator calls."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from corral.errors import InputError, ProviderError
from corral.hosts.machine import Machine
from corral.hosts.netns import connect_inside
from corral.providers.local import network
from corral.providers.local.cgroups import Cgroup
from corral.providers.local.commands import must
from corral.providers.local.control import Converge, Fault, GuestPlan, GuestStatus, Plan, Reply, Status, ask
from corral.providers.local.furnish import HOST_KEY
from corral.providers.local.image import OnProgress, ensure_image
from corral.providers.local.launch import ensure_supervisor
from corral.providers.local.python_view import this_python
from corral.providers.local.recipe import Init
from corral.providers.local.requirements import check_requirements
from corral.spec.model import LocalSpec

_BOOT_TIMEOUT_S = 90.0
_DOWN_TIMEOUT_S = 30.0
_POLL_S = 0.05
_IDENTITY = "id_ed25519"
_PLAN = "plan.json"


class LocalMachines:
    """The machines of one local cluster. Its state is in `directory` and the kernel, never in here."""

    def __init__(self, directory: Path, cache: Path, cluster: str, spec: LocalSpec, *, init: Init = "systemd") -> None:
        self._directory = directory.absolute()
        self._cache = cache.absolute()
        self._cluster = cluster
        self._spec = spec
        self._init: Init = init

    async def up(self, names: Sequence[str], on_progress: OnProgress) -> list[Machine]:
        """Make exactly these machines run, and return when each of them answers SSH.

        What runs is kept, what is off is booted, what is no longer named is removed. It may be interrupted
        anywhere: calling it again continues.
        """
        check_requirements()
        self._check_names(names)
        image = await self._image(on_progress)
        plan = await self._write_plan(names, image)
        await ensure_supervisor(self._cluster, self._directory)
        on_progress(f"booting {', '.join(names)}")
        reply = await ask(self._directory, Converge(plan=plan))
        machines = self.machines()
        if len(machines) != len(reply.guests):
            raise ProviderError(f"the supervisor of {self._cluster} ended while its machines booted")
        await asyncio.gather(*(self._answers_ssh(machine, on_progress) for machine in machines))
        return machines

    def machines(self) -> list[Machine]:
        """The machines, if the cluster is up; looks only, and changes nothing."""
        plan = self._plan()
        pid = Cgroup.of_cluster(self._cluster).supervisor()
        if plan is None or pid is None:
            return []
        return [
            Machine(
                name=guest.name,
                address=network.address(guest.index),
                identity_file=self._directory / _IDENTITY,
                host_key=" ".join((self._home(guest.name) / f"{HOST_KEY}.pub").read_text().split()[:2]),
                network_namespace=Path(f"/proc/{pid}/ns/net"),
            )
            for guest in plan.guests
        ]

    async def down(self) -> None:
        """End every process of the cluster and delete its directory, whatever state it is in."""
        check_requirements()
        if not await Cgroup.of_cluster(self._cluster).end(_DOWN_TIMEOUT_S):
            raise ProviderError(
                f"processes of {self._cluster} do not end, or cgroups called corral-{self._cluster} stay"
            )
        await asyncio.to_thread(self._delete)

    async def status(self) -> list[GuestStatus]:
        """How each machine is, as its supervisor sees it; empty when the cluster is not up."""
        if Cgroup.of_cluster(self._cluster).supervisor() is None:
            return []
        return list((await ask(self._directory, Status())).guests)

    async def power_off(self, name: str) -> None:
        """Pull the machine's cord: nothing on it gets to say goodbye."""
        await self._fault(Fault(do="power_off", name=name))

    async def power_on(self, name: str) -> None:
        """Switch the machine on; it boots from its disk as it was left."""
        await self._fault(Fault(do="power_on", name=name))

    async def freeze(self, name: str) -> None:
        """Let the machine hang: its kernel still answers, no process does."""
        await self._fault(Fault(do="freeze", name=name))

    async def thaw(self, name: str) -> None:
        """Let a frozen machine go on where it stopped."""
        await self._fault(Fault(do="thaw", name=name))

    async def unplug(self, name: str) -> None:
        """Pull the machine's network cable; it stays out across reboots."""
        await self._fault(Fault(do="unplug", name=name))

    async def plug(self, name: str) -> None:
        """Put the network cable back."""
        await self._fault(Fault(do="plug", name=name))

    async def _fault(self, fault: Fault) -> Reply:
        return await ask(self._directory, fault)

    def _check_names(self, names: Sequence[str]) -> None:
        if not 1 <= len(names) <= network.MAX_GUESTS or len(set(names)) != len(names):
            raise InputError(f"a local cluster has 1 to {network.MAX_GUESTS} machines with different names")
        for path in (self._directory, self._cache):
            # The supervisor has a /run of its own and would not see it.
            if path.is_relative_to("/run"):
                raise InputError(f"{path}: local clusters cannot be kept below /run")

    async def _image(self, on_progress: OnProgress) -> Path:
        """The image of the machines that exist, or else the one of the current recipe."""
        plan = self._plan()
        if plan is not None and plan.guests and plan.image.is_dir():
            # A disk holds only what differs from its image, so it can never be put on another one.
            if plan.image.name.partition("-")[0] != self._spec.release or plan.init != self._init:
                raise InputError(
                    f"{self._cluster}: its machines were made from {plan.image.name}; "
                    "another release needs new ones. Try: corral down, then corral up"
                )
            return plan.image
        return await ensure_image(self._spec.release, self._cache, on_progress, init=self._init)

    async def _write_plan(self, names: Sequence[str], image: Path) -> Plan:
        for directory, mode in ((self._directory, 0o700), (self._directory / "machines", 0o700)):
            directory.mkdir(mode=mode, parents=True, exist_ok=True)
        shared = self._directory / "shared"
        shared.mkdir(exist_ok=True)
        shared.chmod(0o1777)
        await _ensure_key(self._directory / _IDENTITY, f"corral {self._cluster}")
        for name in names:
            self._home(name).mkdir(exist_ok=True)
            await _ensure_key(self._home(name) / HOST_KEY, name)
        plan = Plan(
            image=image,
            init=self._init,
            gpus=self._spec.gpus,
            gpu_type=self._spec.gpu_type,
            link=self._spec.link,
            authorized_key=(self._directory / f"{_IDENTITY}.pub").read_text().strip(),
            python=this_python(),
            guests=self._assign(names),
        )
        unfinished = self._directory / f".{_PLAN}"
        unfinished.write_text(plan.model_dump_json())
        unfinished.rename(self._directory / _PLAN)
        return plan

    def _assign(self, names: Sequence[str]) -> tuple[GuestPlan, ...]:
        """Keep the index of a machine that exists; a new one takes the lowest that no machine has."""
        plan = self._plan()
        known = {guest.name: guest.index for guest in plan.guests} if plan is not None else {}
        taken = {known[name] for name in names if name in known}
        free = (index for index in range(network.MAX_GUESTS) if index not in taken)
        return tuple(GuestPlan(name=name, index=known[name] if name in known else next(free)) for name in names)

    def _plan(self) -> Plan | None:
        try:
            return Plan.model_validate_json((self._directory / _PLAN).read_text())
        except FileNotFoundError:
            return None
        except ValidationError as problem:
            raise ProviderError(
                f"{self._directory / _PLAN} is of another version of Corral. Try: corral down"
            ) from problem

    def _home(self, name: str) -> Path:
        return self._directory / "machines" / name

    async def _answers_ssh(self, machine: Machine, on_progress: OnProgress) -> None:
        deadline = time.monotonic() + _BOOT_TIMEOUT_S
        while not await asyncio.to_thread(_has_banner, machine):
            states = {guest.name: guest for guest in await self.status()}
            state = states.get(machine.name)
            if state is None or not state.powered or time.monotonic() > deadline:
                why = (state.error if state else None) or f"no SSH at {machine.address}"
                raise ProviderError(f"{machine.name} did not boot: {why}\n{self._console(machine.name)}")
            await asyncio.sleep(_POLL_S)
        on_progress(f"{machine.name} is up")

    def _console(self, name: str, lines: int = 15) -> str:
        try:
            said = (self._home(name) / "console.log").read_text(errors="replace").splitlines()
        except OSError:
            return "(it wrote nothing to its console)"
        return "\n".join(said[-lines:])

    def _delete(self) -> None:
        # By name: a directory that someone else also uses must not lose what is not ours.
        for part in ("machines", "shared"):
            with suppress(FileNotFoundError):
                shutil.rmtree(self._directory / part)
        ours = ("control.sock", "supervisor.lock", "supervisor.log", "uplink.log", _PLAN, f".{_PLAN}")
        for name in (*ours, _IDENTITY, f"{_IDENTITY}.pub"):
            (self._directory / name).unlink(missing_ok=True)
        with suppress(OSError):
            self._directory.rmdir()


async def _ensure_key(path: Path, comment: str) -> None:
    """Make a key pair once; half a pair is what an interrupted run left, and nobody has seen it."""
    public = path.with_name(f"{path.name}.pub")
    if path.exists() and public.exists():
        return
    path.unlink(missing_ok=True)
    public.unlink(missing_ok=True)
    await must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path))


def _has_banner(machine: Machine) -> bool:
    assert machine.network_namespace is not None
    try:
        with connect_inside(machine.network_namespace, machine.address, machine.port, 1.0) as connection:
            connection.settimeout(2.0)
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False
