"""A local cluster's directory: what outlives the operator's process and the supervisor."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from corral.errors import ProviderError
from corral.providers.local import network
from corral.providers.local.commands import must
from corral.providers.local.control import GuestPlan, Plan
from corral.providers.local.furnish import HOST_KEY

_PLAN = "plan.json"
_IDENTITY = "id_ed25519"
_FILES = (
    *("control.sock", "supervisor.lock", "supervisor.log", "uplink.log"),
    *(_PLAN, f".{_PLAN}", _IDENTITY, f"{_IDENTITY}.pub"),
)
_FOLDERS = ("machines", "shared")


@dataclass(frozen=True, slots=True)
class Store:
    """Reads and writes the directory. Every write is complete or can be done again."""

    directory: Path

    @property
    def identity_file(self) -> Path:
        return self.directory / _IDENTITY

    @property
    def authorized_key(self) -> str:
        return (self.directory / f"{_IDENTITY}.pub").read_text().strip()

    def host_key(self, guest: GuestPlan) -> str:
        """The public key to pin: we made the pair ourselves, before the machine's first boot."""
        return " ".join((guest.home(self.directory) / f"{HOST_KEY}.pub").read_text().split()[:2])

    def plan(self) -> Plan | None:
        """What was last asked for, or None when nothing was."""
        try:
            return Plan.model_validate_json((self.directory / _PLAN).read_text())
        except FileNotFoundError:
            return None
        except ValidationError as problem:
            raise ProviderError(
                f"{self.directory / _PLAN} is of another version of Corral. Try: corral down"
            ) from problem

    def save(self, plan: Plan) -> None:
        unfinished = self.directory / f".{_PLAN}"
        unfinished.write_text(plan.model_dump_json())
        unfinished.rename(self.directory / _PLAN)

    async def prepare(self, names: Sequence[str]) -> tuple[GuestPlan, ...]:
        """Make the directories and keys of these machines, as far as they are missing."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in _FOLDERS:
            (self.directory / folder).mkdir(mode=0o700, exist_ok=True)
        (self.directory / "shared").chmod(0o1777)
        await _ensure_key(self.identity_file, "corral")
        guests = self._assign(names)
        for guest in guests:
            guest.home(self.directory).mkdir(exist_ok=True)
            await _ensure_key(guest.home(self.directory) / HOST_KEY, guest.name)
        return guests

    def console(self, name: str, lines: int = 15) -> str:
        """The end of what a machine wrote to its console, for error messages."""
        plan = self.plan()
        for guest in plan.guests if plan is not None else ():
            log = guest.home(self.directory) / "console.log"
            if guest.name == name and log.exists():
                return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
        return "(it wrote nothing to its console)"

    def delete(self) -> None:
        """Delete what is ours by name: a directory that someone also uses otherwise keeps the rest."""
        for folder in _FOLDERS:
            with suppress(FileNotFoundError):
                shutil.rmtree(self.directory / folder)
        for file in _FILES:
            (self.directory / file).unlink(missing_ok=True)
        with suppress(OSError):
            self.directory.rmdir()

    def _assign(self, names: Sequence[str]) -> tuple[GuestPlan, ...]:
        """Keep the index of a machine that exists; a new one takes the lowest that no machine has."""
        plan = self.plan()
        known = {guest.name: guest.index for guest in plan.guests} if plan is not None else {}
        free = (index for index in range(network.MAX_GUESTS) if index not in known.values())
        return tuple(GuestPlan(name=name, index=known[name] if name in known else next(free)) for name in names)


async def _ensure_key(path: Path, comment: str) -> None:
    """Make a key pair once; half a pair is what an interrupted run left, and nobody has seen it."""
    public = path.with_name(f"{path.name}.pub")
    if path.exists() and public.exists():
        return
    path.unlink(missing_ok=True)
    public.unlink(missing_ok=True)
    await must("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path))
