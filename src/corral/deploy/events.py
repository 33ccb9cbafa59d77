"""What happens during a deployment, as plain data: the terminal, the log and the web read the same stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Literal

Kind = Literal[
    "connecting",
    "probed",
    "started",
    "output",
    "changed",
    "ok",
    "failed",
    "blocked",
    "unreachable",
    "lost",
]


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened on one machine."""

    kind: Kind
    host: str
    step: str = ""
    text: str = ""
    seconds: float = 0.0
    steps: int = 0
    """How many steps the machine has, once it was probed."""

    def to_json(self) -> dict[str, object]:
        return {key: value for key, value in asdict(self).items() if value not in ("", 0)}


Emit = Callable[[Event], None]
