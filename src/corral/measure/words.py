"""Sizes and rates as people read and write them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from corral.errors import InputError

_SUFFIXES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def parse_size(text: str, option: str) -> int:
    """Bytes from `8`, `64M` or `1.5GiB`; powers of 1024, as in nccl-tests."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmg]?)(?:i?b)?", text.strip(), re.IGNORECASE)
    size = int(float(match[1]) * _SUFFIXES[match[2].lower()]) if match else 0
    if size < 1:
        raise InputError(f"{option} {text}: write a size such as 8, 64K, 64M or 1G")
    return size


def size_text(size_bytes: int) -> str:
    """`8 B`, `64 KiB`, `1.5 MiB`."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:.4g} {name}"
    return f"{size_bytes} B"


def gbit_s(bit_s: float) -> str:
    """`2.11 Gbit/s`, `93.2 Mbit/s`."""
    return f"{significant(bit_s / 1e9)} Gbit/s" if bit_s >= 1e9 else f"{significant(bit_s / 1e6)} Mbit/s"


def decimals(values: Iterable[float]) -> int:
    """How many digits a column needs behind the point, so that its largest value shows three that matter."""
    largest = max((abs(value) for value in values), default=0.0)
    return max(2, 2 - math.floor(math.log10(largest))) if largest > 0 else 2


def significant(value: float) -> str:
    """Three digits that matter, and no more: `0.264`, `11.6`, `1234`; what is tiny is `0.00`."""
    if abs(value) >= 99.95:
        return f"{value:.0f}"
    if abs(value) >= 9.995:
        return f"{value:.1f}"
    if abs(value) >= 0.9995:
        return f"{value:.2f}"
    return f"{value:.3f}" if abs(value) >= 0.0995 or value < 0.0005 else f"{value:.4f}"
