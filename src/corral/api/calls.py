"""Functions on their way into a job: `corral.inside.call` is at the other end."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import cloudpickle

INSIDE = ("python3", "-m", "corral.inside.call")


def pickled(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bytes:
    """What a job reads: which Python it must be, and the call itself."""
    return _header({}) + bytes(cloudpickle.dumps((function, args, dict(kwargs))))


def pickled_map(function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> bytes:
    """What the jobs of a map read: one file, with the function in it once, because storage is slow at making files."""
    parts = [bytes(cloudpickle.dumps(part)) for part in (function, *calls)]
    return _header({"sizes": [len(part) for part in parts]}) + b"".join(parts)


def _header(more: Mapping[str, object]) -> bytes:
    return json.dumps({"python": list(sys.version_info[:2]), **more}).encode() + b"\n"
