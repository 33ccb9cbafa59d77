"""Numbers of an experiment: written by the script with one call, read by whoever compares experiments.

from corral import metrics

metrics.report(step=step, loss=loss)
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from pathlib import Path
from typing import Any

from corral.inside import group

FILE = "metrics.jsonl"

# JSON has no such numbers, and a diverged loss should still be seen as one.
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def report(**values: Any) -> None:
    """Append one line to the job's metrics, with the time. Only rank 0 writes; outside of a job the line is printed."""
    if group.rank() != 0:
        return
    line = json.dumps({"time": round(time.time(), 3)} | {name: _plain(value) for name, value in values.items()}) + "\n"
    job = os.environ.get("CORRAL_JOB_DIR")
    if not job:
        sys.stdout.write(line)
        sys.stdout.flush()
        return
    # One write of whole lines at the end, so that a reader or a second writer never finds a line within a line.
    descriptor = os.open(Path(job) / FILE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def parse(text: str) -> list[dict[str, Any]]:
    """All whole lines of a metrics file. One that was torn by a crash, or is just being written, is left out."""
    found = []
    for line in text.splitlines():
        try:
            values = json.loads(line)
        except ValueError:
            continue
        if isinstance(values, dict):
            found.append({name: _number(value) for name, value in values.items()})
    return found


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):  # scalars of torch and NumPy
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def _number(value: Any) -> Any:
    return _NOT_FINITE.get(value, value) if isinstance(value, str) else value
