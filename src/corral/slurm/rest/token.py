"""What slurmrestd knows a user by, and which Slurm gave it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from corral.errors import SlurmUnavailable

TOKEN_SCRIPT = "scontrol token lifespan=3600 && scontrol --version"  # noqa: S105 (how to get one, not one)
"""Run by the user on a machine of the cluster."""


@dataclass(frozen=True, slots=True)
class Token:
    """A user's pass to slurmrestd; it is never shown."""

    secret: str = field(repr=False)
    slurm_version: str
    """Such as `24.11.5`: it decides which API is spoken."""


GetToken = Callable[[], Awaitable[Token]]


def parse_token(said: str) -> Token:
    """The token from `TOKEN_SCRIPT`."""
    secret = re.search(r"^SLURM_JWT=(\S+)$", said, re.MULTILINE)
    version = re.search(r"^slurm(?:-wlm)? (\S+)$", said, re.MULTILINE)
    if secret is None or version is None:
        raise SlurmUnavailable("scontrol gave no token. Try: scontrol ping")
    return Token(secret[1], version[1])
