"""Functions on their way into a job: `corral.inside.call` is at the other end."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

import cloudpickle

INSIDE = ("python3", "-m", "corral.inside.call")


def pickled(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bytes:
    """What a job reads: which Python it must be, and the call itself."""
    header = json.dumps({"python": list(sys.version_info[:2])}).encode()
    return header + b"\n" + bytes(cloudpickle.dumps((function, args, dict(kwargs))))
