"""How a gauge tells what it found: one line of JSON in the job's output, which anybody can read."""

from __future__ import annotations

import json
import sys

MARK = "corral-gauge "
"""Begins every such line; `corral.measure.records` knows it too."""


def tell(kind: str, **fields: object) -> None:
    """Report one thing, at once. Call it on one rank only."""
    # One write, so that lines of several processes do not mix.
    sys.stdout.write(f"{MARK}{json.dumps({'kind': kind, **fields})}\n")
    sys.stdout.flush()
