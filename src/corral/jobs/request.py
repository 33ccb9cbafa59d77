"""What a person asks for: a command, what it needs, and where it runs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from corral.errors import InputError

_UNITS = {"k": 1 / 1024, "m": 1.0, "g": 1024.0, "t": 1024.0**2}
_GPUS = re.compile(r"(?:(?P<type>[A-Za-z][\w.-]*)(?::(?=\d)|$))?(?P<count>\d+)?")


@dataclass(frozen=True, slots=True)
class Gpus:
    """How many GPUs on each node, and of which type if that matters."""

    count: int
    type: str = ""


@dataclass(frozen=True, slots=True)
class Resources:
    """What a job needs on each of its nodes; None leaves it to the cluster's fair share."""

    nodes: int = 1
    gpus: Gpus | None = None
    cpus: int | None = None
    memory_mib: int | None = None
    time_limit_min: int | None = None
    partition: str = ""
    qos: str = ""
    account: str = ""

    def __post_init__(self) -> None:
        for what, count, least in (
            ("nodes", self.nodes, 1),
            ("GPUs", None if self.gpus is None else self.gpus.count, 0),
            ("CPUs", self.cpus, 1),
        ):
            if count is not None and count < least:
                raise InputError(f"a job cannot have {count} {what}; the least is {least}")


@dataclass(frozen=True, slots=True)
class Environment:
    """What the command runs in: the node's own system, or something that the person has made."""

    kind: str = "system"
    """system, venv, conda or container."""
    where: str = ""


@dataclass(frozen=True, slots=True)
class JobRequest:
    """One command, once."""

    command: tuple[str, ...]
    name: str
    resources: Resources = Resources()
    environment: Environment = Environment()
    ddp: bool = False
    """One process per GPU on all nodes, started by torchrun."""
    after: tuple[str, ...] = ()
    """Jobs that must have ended well before."""
    variables: dict[str, str] = field(default_factory=dict)


def parse_gpus(text: str) -> Gpus:
    """`2`, `rtx5090` or `rtx5090:2`."""
    match = _GPUS.fullmatch(text.strip())
    if match is None or not (match["type"] or match["count"]):
        raise InputError(f"--gpus {text}: write a number, a type, or both, such as 1, rtx5090 or rtx5090:2")
    return Gpus(int(match["count"] or 1), match["type"] or "")


def parse_memory(text: str) -> int:
    """Mebibytes from `16G`, `800M` or `1.5T`; a bare number is Slurm's, mebibytes."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:([kmgt])(?:i?b)?)?", text.strip(), re.IGNORECASE)
    if match is None or float(match[1]) <= 0:
        raise InputError(f"--mem {text}: write a size such as 16G or 800M")
    return max(1, round(float(match[1]) * _UNITS[(match[2] or "m").lower()]))


def parse_time(text: str) -> int:
    """Minutes from `90` (minutes, as in Slurm), `30m`, `2h`, `1d12h`, `45s`, `2:30:00` or `1-12:00:00`."""
    text = text.strip()
    if match := re.fullmatch(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", text):
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    elif text.isdecimal():
        days, hours, minutes, seconds = 0, 0, int(text), 0
    elif match := re.fullmatch(r"(?:(\d+)-)?(\d+):(\d\d):(\d\d)", text):
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    else:
        raise InputError(f"--time {text}: write a time such as 30m, 2h, 1d12h or 1-12:00:00")
    # Slurm counts minutes; less than one is one.
    total = days * 1440 + hours * 60 + minutes + (seconds + 59) // 60
    if total == 0:
        raise InputError(f"--time {text}: a job needs more time than none")
    return total
