"""The kinds of value that the cluster file knows, each with a name and an explanation for people."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    PlainSerializer,
    Strict,
    Tag,
    WithJsonSchema,
)

Connection = Literal["ssh", "local"]
Role = Literal["head", "login", "compute"]
Release = Literal["bookworm", "trixie", "forky"]

# Strict, because YAML has its own numbers and booleans: `port: true` is a slip, not port 1.
Whole = Annotated[int, Strict()]
Flag = Annotated[bool, Strict()]

# Each pattern has a name and an explanation: error messages and editors show these, never the pattern.
HostName = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$",
        title="machine name",
        description="lower-case letters, digits and inner hyphens, at most 63 characters",
    ),
]
Address = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9:][A-Za-z0-9.:%_-]*$",
        title="address",
        description="an IP address or a host name; user and port have their own keys",
    ),
]
JumpHosts = Annotated[
    str,
    Field(
        pattern=r"^([^@,\s]+@)?[A-Za-z0-9\[][A-Za-z0-9.:%_\]-]*(,([^@,\s]+@)?[A-Za-z0-9\[][A-Za-z0-9.:%_\]-]*)*$",
        title="jump host",
        description="host, user@host or user@host:port, several with commas between them, or none",
    ),
]
SlurmName = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9_-]{0,30}$",
        title="name",
        description="lower-case letters, digits, _ and -, starting with a letter, at most 31 characters",
    ),
]
UserName = Annotated[
    str,
    Field(
        pattern=r"^[a-z_][a-z0-9_-]{0,30}$",
        title="user name",
        description="lower-case letters, digits, _ and -, starting with a letter or _, at most 31 characters",
    ),
]
DriverBranch = Annotated[
    str,
    Field(
        pattern=r"^[1-9][0-9]{2}$",
        coerce_numbers_to_str=True,
        title="driver branch",
        description='three digits, such as "580"',
    ),
]
GpuType = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9][a-z0-9_.-]*$",
        title="GPU type",
        description="lower-case letters, digits, _, . and -, such as rtx5090",
    ),
]
SlurmTime = Annotated[
    str,
    Field(
        pattern=r"^(infinite|([0-9]+-)?[0-9]{1,2}:[0-9]{2}:[0-9]{2}|[0-9]+)$",
        title="time",
        description="minutes such as 90, hours such as 12:30:00, days such as 7-00:00:00, or infinite",
    ),
]
LinkRate = Annotated[
    str,
    Field(
        pattern=r"^[0-9]+(\.[0-9]+)?(kbit|mbit|gbit)$",
        title="link rate",
        description="a number with kbit, mbit or gbit, such as 2.5gbit",
    ),
]
Latency = Annotated[
    str,
    Field(
        pattern=r"^[0-9]+(\.[0-9]+)?(us|ms)$",
        title="time",
        description="a number with us or ms, such as 500us",
    ),
]
EnvironmentPath = Annotated[
    str,
    Field(
        pattern=r"^/[^\s'\"$`\\]*$",
        title="environment",
        description="the absolute path of a virtual or conda environment that all nodes see",
    ),
]
AbsolutePath = Annotated[
    str,
    Field(
        pattern=r"^(/[A-Za-z0-9_][A-Za-z0-9_.-]*)+$",
        title="path",
        description="an absolute path of letters, digits, _, . and -, without a slash at its end, such as /shared",
    ),
]
NfsExport = Annotated[
    str,
    Field(
        pattern=r"^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9][A-Za-z0-9.-]*):/[A-Za-z0-9_./-]*$",
        title="NFS export",
        description="a server and a path on it, such as nas.lan:/export",
    ),
]
SlurmKey = Annotated[
    str,
    Field(pattern=r"^[A-Za-z][A-Za-z0-9]*$", title="slurm.conf key", description="letters and digits only"),
]
SlurmLine = Annotated[
    str,
    Field(
        pattern=r"^[^\s#]([^\n\r#]*[^\s#])?$",
        title="slurm.conf value",
        description="one line without # and without spaces at its ends",
    ),
]

_RATES_BIT_S = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
_TIMES_S = {"us": 1e-6, "ms": 1e-3}


def rate_bit_s(rate: str) -> float:
    """A `LinkRate` as a number."""
    return float(rate[:-4]) * _RATES_BIT_S[rate[-4:]]


def time_s(latency: str) -> float:
    """A `Latency` as a number."""
    return float(latency[:-2]) * _TIMES_S[latency[-2:]]


_SIZE = r"^([0-9]+(?:\.[0-9]+)?) ?([KMGTkmgt])i?[Bb]?$"
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def _size_in_bytes(value: object) -> int:
    match = re.fullmatch(_SIZE, value) if isinstance(value, str) else None
    size = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if size == 0:
        raise ValueError("not a size; use a number with a unit, such as 64GiB or 512MiB")
    return size


def _size_in_words(size: int) -> str:
    for letter, unit in reversed(_UNITS.items()):
        if size % unit == 0:
            return f"{size // unit}{letter}iB"
    # A fraction of 1024 has at most ten decimals, so nothing is lost.
    return f"{size / 1024:.10f}KiB"


MemoryBytes = Annotated[
    int,
    BeforeValidator(_size_in_bytes),
    PlainSerializer(_size_in_words, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "pattern": _SIZE, "title": "size", "description": "such as 64GiB"}),
]


def _names_or_all(value: object) -> str:
    return "names" if isinstance(value, list | tuple) else "all"


# A discriminator, so that a mistake in the list is not reported a second time as "not 'all'".
MachineNames = Annotated[
    Annotated[tuple[HostName, ...], Tag("names")] | Annotated[Literal["all"], Tag("all")],
    Discriminator(_names_or_all),
]
