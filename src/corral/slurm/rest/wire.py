"""Values out of slurmrestd's JSON, checked on the way in."""

from __future__ import annotations

from typing import Any

from corral.errors import SlurmError

Record = dict[str, Any]
"""A JSON object; it goes no further than the adapters."""

# Slurm's own "not set" and "infinite" for 16, 32 and 64 bits.
_NO_VALUES = frozenset(value for bits in (16, 32, 64) for value in (2**bits - 1, 2**bits - 2))


def integer(record: Record, key: str) -> int | None:
    """A number, plain or as {set, infinite, number}; None where it is not set or infinite."""
    value = record.get(key)
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    if value is None or value in _NO_VALUES:
        return None
    if not isinstance(value, int):
        raise malformed(key, value)
    return value


def text(record: Record, key: str) -> str:
    """A string; empty where there is none."""
    value = record.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise malformed(key, value)
    return value


def malformed(key: str, value: object) -> SlurmError:
    """slurmrestd said something that its API does not."""
    return SlurmError(f"slurmrestd's reply makes no sense: '{key}' is {value!r}")
