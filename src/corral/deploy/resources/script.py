"""A step in its own words: a probe that prints nothing when all is well, and a script that makes it so."""

from __future__ import annotations

from dataclasses import dataclass, field

from corral.deploy.step import Change


@dataclass(frozen=True, slots=True)
class Script:
    """The probe prints one line for each thing that is missing; the script must then make all of them true."""

    name: str
    look: str
    act: str
    doing: str
    """What the act does, in a few words: "create the accounting database"."""
    after: tuple[str, ...] = ()
    stdin: bytes = field(default=b"", repr=False)
    timeout_s: float = 60

    def probe(self) -> str:
        return self.look

    def diff(self, observed: str) -> Change | None:
        missing = observed.strip()
        if not missing:
            return None
        return Change(self.doing, self.act, self.stdin, detail=missing, timeout_s=self.timeout_s)
