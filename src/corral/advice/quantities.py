"""Numbers as people write them: rates of links, counts of parameters."""

from __future__ import annotations

import re

from corral.errors import InputError

_RATES = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
_COUNTS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}


def link_rate(text: str) -> float:
    """Bits per second of `2.5gbit`, `100mbit`."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*(kbit|mbit|gbit)(?:/s)?", text.strip().lower())
    rate = float(found[1]) * _RATES[found[2]] if found else 0.0
    if not rate:
        raise InputError(f"{text!r} is no link rate; use a number with kbit, mbit or gbit, such as 2.5gbit")
    return rate


def count(text: str) -> int:
    """The number in `124m`, `1.3b` or `25557032`."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kmb]?)", text.strip().lower())
    number = round(float(found[1]) * _COUNTS[found[2]]) if found else 0
    if not number:
        raise InputError(f"{text!r} is no number of parameters; use a number with k, m or b, such as 124m")
    return number


def rate_words(bit_s: float) -> str:
    """A rate for people: `2.35 Gbit/s`."""
    return f"{bit_s / 1e9:.3g} Gbit/s" if bit_s >= 1e9 else f"{bit_s / 1e6:.3g} Mbit/s"


def count_words(number: int) -> str:
    """A count for people: `124 M`."""
    return f"{number / 1e9:.3g} B" if number >= 10**9 else f"{number / 1e6:.3g} M"


def time_words(seconds: float) -> str:
    """A step's duration for people: `180 ms`, `2.43 s`."""
    if seconds == float("inf"):
        return "never"
    return f"{seconds:.3g} s" if seconds >= 0.9995 else f"{seconds * 1e3:.3g} ms"
