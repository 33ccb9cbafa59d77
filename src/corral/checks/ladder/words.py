"""Numbers as people read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def rate(bit_s: float) -> str:
    """`93 Mbit/s`, `2.34 Gbit/s`."""
    if bit_s >= 1e9:
        return f"{bit_s / 1e9:.3g} Gbit/s"
    return f"{bit_s / 1e6:.3g} Mbit/s"


def span(values: Sequence[float], words: Callable[[float], str]) -> str:
    """From the least to the most, as one where they read the same; the unit is written once where it is one."""
    if not values:
        return "nothing"
    low, high = words(min(values)), words(max(values))
    if low == high:
        return low
    same_unit = low.split(" ")[1:] == high.split(" ")[1:]
    return f"{low.split(' ')[0] if same_unit else low}–{high}"
