"""How far back somebody wants to look: `2d`, `12h`, `yesterday`, `2026-11-01`."""

from __future__ import annotations

import re
import time

from corral.errors import InputError

_UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_DATES = ("%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S")


def parse_since(text: str, now: float) -> int:
    """Seconds since 1970, in this computer's time zone."""
    if match := re.fullmatch(r"(\d{1,6})([mhdw])", text):
        return int(now) - int(match[1]) * _UNITS[match[2]]
    if text in ("today", "yesterday"):
        today = time.strptime(time.strftime("%Y-%m-%d", time.localtime(now)), "%Y-%m-%d")
        return int(time.mktime(today)) - (86400 if text == "yesterday" else 0)
    for form in _DATES:
        try:
            return int(time.mktime(time.strptime(text, form)))
        except (ValueError, OverflowError):
            continue
    raise InputError(f"--since {text}: write how long ago (90m, 12h, 2d, 1w), today, yesterday or a date (2026-11-01)")
