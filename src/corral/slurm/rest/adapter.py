"""What an API version must be able to translate, and which one a Slurm release speaks."""

from __future__ import annotations

from typing import Protocol

from corral.errors import SlurmRefused
from corral.slurm.description import JobDescription
from corral.slurm.rest import v0_0_38, v0_0_42, v0_0_45
from corral.slurm.rest.details import JobDetails
from corral.slurm.rest.wire import Record


class Adapter(Protocol):
    """One API version. Modules implement it: there is nothing to remember between two calls."""

    @property
    def API(self) -> str: ...  # noqa: N802 (a module's constant)

    @property
    def TOKEN_SUSPECTS(self) -> frozenset[int]:  # noqa: N802 (likewise)
        """Errors that mean an absent controller, or else a bad token."""

    def submission(self, description: JobDescription) -> Record:
        """The body of POST /job/submit."""

    def details(self, record: Record) -> JobDetails:
        """One element of the `jobs` of GET /job/ID."""


# Newest first.
_ADAPTERS: tuple[Adapter, ...] = (v0_0_45, v0_0_42, v0_0_38)
_SERVED = {
    "22.05": range(36, 39),
    "23.02": range(37, 40),
    "23.11": range(38, 41),
    "24.05": range(39, 42),
    "24.11": range(40, 43),
    "25.05": range(41, 44),
    "25.11": range(42, 45),
    "26.05": range(42, 46),
}


def adapter_for(slurm_version: str) -> Adapter:
    """The newest API that both that Slurm and this program know."""
    release = ".".join(slurm_version.split(".")[:2])
    served = {f"v0.0.{number}" for number in _SERVED.get(release, ())}
    for adapter in _ADAPTERS:
        if adapter.API in served:
            return adapter
    able = [
        name for name, numbers in _SERVED.items() if any(int(a.API.rpartition(".")[2]) in numbers for a in _ADAPTERS)
    ]
    raise SlurmRefused(f"Slurm {slurm_version} serves no REST API that Corral speaks. It speaks to {', '.join(able)}")
