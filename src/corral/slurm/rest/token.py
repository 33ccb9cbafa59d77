"""What slurmrestd knows a user by, and which Slurm gave it."""

from __future__ import annotations

import base64
import json
import re
import time
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

    @property
    def expires_soon(self) -> bool:
        """Whether a minute of this computer's clock may be too long for it."""
        return time.time() > _expires(self.secret) - 60


GetToken = Callable[[], Awaitable[Token]]


def parse_token(said: str) -> Token:
    """The token from `TOKEN_SCRIPT`."""
    secret = re.search(r"^SLURM_JWT=(\S+)$", said, re.MULTILINE)
    version = re.search(r"^slurm(?:-wlm)? (\S+)$", said, re.MULTILINE)
    if secret is None or version is None:
        raise SlurmUnavailable("scontrol gave no token. Try: scontrol ping")
    return Token(secret[1], version[1])


def _expires(secret: str) -> float:
    """The end that a JSON web token names; never, where it names none."""
    try:
        payload = secret.split(".")[1]
        said = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return float(said["exp"])
    except (IndexError, ValueError, KeyError, TypeError):
        return float("inf")
