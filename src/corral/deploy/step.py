"""The two nouns of a deployment: a `Step` looks, a `Change` acts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Change:
    """What must be done to make a step true, as data: nothing happens until the engine runs it."""

    summary: str
    """A few words for people: "write slurm.conf", "restart slurmctld: its configuration changed"."""
    script: str
    """POSIX sh, run as root. It may run twice: an interrupted deployment simply starts again."""
    stdin: bytes = field(default=b"", repr=False)
    """What the script reads: file contents and secrets travel here, never in the script."""
    detail: str = ""
    """A diff or list to show on request. Never holds a secret."""
    timeout_s: float = 60


class Step(Protocol):
    """One thing that must be true on one machine."""

    @property
    def name(self) -> str:
        """Unique on its machine."""

    @property
    def after(self) -> tuple[str, ...]:
        """Steps that must be true first: `munge` here, `head/slurmctld` on the head, `@node1/exported` there."""

    def probe(self) -> str:
        """A read-only POSIX sh script; whatever it prints is what `diff` gets to see."""

    def diff(self, observed: str) -> Change | None:
        """Pure: what to do about what was observed, or None when all is well."""
