"""Slurm's job states, sorted once."""

from __future__ import annotations

ENDED = frozenset(
    ("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL", "OUT_OF_MEMORY",
     "PREEMPTED", "RECONFIG_FAIL", "REVOKED", "TIMEOUT")
)  # fmt: skip
"""Nothing of such a job will run any more, unless somebody requeues it."""
