"""Slurm's major releases: how far apart two of them are, and which may work together or follow each other.

The rule is that of Slurm's upgrade guide: a release understands the two before it, and from 24.11 on, when
releases began to come every six months, the three before it. It holds for a database or state to be taken
over, for a slurmctld that talks to slurmdbd, and for a slurmd that talks to slurmctld.
"""

from __future__ import annotations

import re

Release = tuple[int, int]
"""Year and month: Slurm 24.11.5 is of the release (24, 11)."""

_BEFORE_SIX_MONTHLY: tuple[Release, ...] = ((20, 2), (20, 11), (21, 8), (22, 5), (23, 2), (23, 11))
_FIRST_SIX_MONTHLY: Release = (24, 5)
_FIRST_WITH_THREE: Release = (24, 11)


def release_of(package_version: str) -> Release | None:
    """The release that a distribution's package is of: `24.11.5-4+deb13u1` → (24, 11)."""
    match = re.match(r"(?:\d+:)?(\d+)\.(\d+)", package_version)
    return (int(match[1]), int(match[2])) if match else None


def upstream(package_version: str) -> str:
    """Slurm's own version in a distribution's: `24.11.5-4+deb13u1` → `24.11.5`."""
    return package_version.rpartition(":")[2].partition("-")[0]


def show(release: Release) -> str:
    return f"{release[0]}.{release[1]:02d}"


def understands(newer: Release, older: Release) -> bool:
    """Whether the newer release takes over from, and talks to, the older one."""
    return older in (newer, *predecessors(newer))


def predecessors(release: Release) -> tuple[Release, ...]:
    """The releases that this one may directly follow, the nearest first."""
    count = 3 if release >= _FIRST_WITH_THREE else 2
    earlier: list[Release] = []
    current = release
    while len(earlier) < count and current > _BEFORE_SIX_MONTHLY[0]:
        current = _before(current)
        earlier.append(current)
    return tuple(earlier)


def _before(release: Release) -> Release:
    if release > _FIRST_SIX_MONTHLY:
        year, month = release
        return (year, 5) if month > 5 else (year - 1, 11)
    return max((known for known in _BEFORE_SIX_MONTHLY if known < release), default=_BEFORE_SIX_MONTHLY[0])
