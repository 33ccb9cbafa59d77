"""The reasons that Slurm itself gives for taking a node out of service, told from those that people give."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from corral.slurm.text import Reason

Cause = Literal["memory", "gpus", "cpus", "disk", "silent", "rebooted", "unkillable", "job-start", "person", "slurm"]

# Slurm 22.05 to 26.05 spell them so; slurmd signs its own as root, so the text decides before the author does.
_TEXTS: tuple[tuple[Cause, str], ...] = (
    ("memory", r"Low RealMemory \(reported:(?P<found>\d+) < \S+ of configured:(?P<declared>\d+)\)"),
    ("gpus", r"gres/gpu count .*\((?P<found>\d+) < (?P<declared>\d+)\)"),
    ("cpus", r"Low (?:socket\*core\*thread|CPUs|Cores|sockets)"),
    ("disk", r"Low TmpDisk"),
    ("silent", r"Not responding"),
    ("rebooted", r"Node unexpectedly rebooted"),
    ("unkillable", r"Kill task failed|Epilog error|Duplicate jobid"),
    ("job-start", r"Prolog error|batch job complete failure|Prolog/epilog failure"),
)
_SLURM_ITSELF = ("slurm", "64030")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a reason comes down to; the numbers are there where Slurm gave them."""

    cause: Cause
    declared: int = 0
    found: int = 0


def judge(reason: Reason) -> Verdict:
    """Who took the node out of service and why."""
    for cause, pattern in _TEXTS:
        match = re.match(pattern, reason.text, re.IGNORECASE)
        if match is not None:
            numbers = {key: int(value) for key, value in match.groupdict().items()}
            return Verdict(cause, **numbers)
    return Verdict("slurm" if reason.by in _SLURM_ITSELF else "person")
