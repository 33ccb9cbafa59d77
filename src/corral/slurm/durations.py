"""Slurm's durations: `2-03:04:05`, `10:00`, `UNLIMITED`."""

from __future__ import annotations

import re

_DURATION = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)")


def parse_duration_s(text: str) -> int | None:
    """Seconds; None where Slurm has no number for it (`UNLIMITED`, `Partition_Limit`, `N/A`)."""
    match = _DURATION.fullmatch(text.partition(".")[0])
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
