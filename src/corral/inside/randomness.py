"""The random generators of this process: what must continue so that a run continues exactly."""

from __future__ import annotations

import random
import sys
from typing import Any


def capture() -> dict[str, Any]:
    """State of Python's generator, and of NumPy's and torch's where the script has imported them."""
    states: dict[str, Any] = {"python": random.getstate()}
    numpy, torch = _numpy(), _torch()
    if numpy is not None:
        states["numpy"] = numpy.random.get_state()
    if torch is not None:
        states["torch"] = torch.get_rng_state()
        # The current device only: asking all of them would open every GPU of the node from every rank.
        if torch.cuda.is_initialized():
            states["cuda"] = torch.cuda.get_rng_state()
    return states


def resume(states: dict[str, Any]) -> None:
    """Continue with captured states, as far as their libraries are in use here."""
    random.setstate(states["python"])
    numpy, torch = _numpy(), _torch()
    if numpy is not None and "numpy" in states:
        numpy.random.set_state(states["numpy"])
    if torch is not None and "torch" in states:
        torch.set_rng_state(states["torch"])
        if "cuda" in states and torch.cuda.is_available():
            torch.cuda.set_rng_state(states["cuda"])


def _numpy() -> Any:
    # torch imports NumPy by itself; `random` is there only once somebody uses it.
    return sys.modules.get("numpy") if "numpy.random" in sys.modules else None


def _torch() -> Any:
    return sys.modules.get("torch")
