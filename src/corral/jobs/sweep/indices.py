"""Sets of array indices as Slurm writes them: `0-5,7,9-12`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from corral.errors import CorralError

_PART = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")


def compress(indices: Iterable[int]) -> str:
    """The shortest text of the set, in order."""
    parts: list[list[int]] = []
    for index in sorted(set(indices)):
        if parts and parts[-1][-1] == index - 1:
            parts[-1][1:] = [index]
        else:
            parts.append([index])
    return ",".join("-".join(map(str, part)) for part in parts)


def expand(text: str) -> tuple[int, ...]:
    """Every index of such a text, in order. Slurm's brackets, steps (`0-10:5`) and limits (`%4`) are understood."""
    inner = text.strip().strip("[]").partition("%")[0]
    found: set[int] = set()
    for part in inner.split(",") if inner else []:
        match = _PART.fullmatch(part.strip())
        if match is None:
            # Slurm cuts long sets off with "..." unless SLURM_BITSTR_LEN=0: half a set must not pass for the whole.
            raise CorralError(f"{text!r} is no set of array indices: {part!r}")
        first = int(match[1])
        found.update(range(first, int(match[2] or first) + 1, int(match[3] or 1)))
    return tuple(sorted(found))
