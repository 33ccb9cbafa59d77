"""Slurm's short form of many node names: `gpu[01-03,7],login`."""

from __future__ import annotations

import re

_PART = re.compile(r"(?P<head>[^,\[]+)(?:\[(?P<ranges>[^\]]*)\](?P<tail>[^,\[]*))?")


def expand_hosts(text: str) -> tuple[str, ...]:
    """Every name, in order. `(null)` and the like, which Slurm writes for nobody, are none."""
    if text in ("", "(null)", "None", "None assigned", "N/A"):
        return ()
    found: list[str] = []
    for part in _PART.finditer(text):
        head, tail = part["head"], part["tail"] or ""
        numbers = (
            [""] if part["ranges"] is None else [one for item in part["ranges"].split(",") for one in _range(item)]
        )
        found += [f"{head}{number}{tail}" for number in numbers]
    return tuple(found)


def _range(item: str) -> list[str]:
    first, dash, last = item.partition("-")
    if not dash:
        return [first]
    # Leading zeros belong to the names.
    return [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
