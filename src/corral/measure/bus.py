"""The arithmetic of nccl-tests: what a time says about the link.

The algorithm bandwidth is size over time. The bus bandwidth multiplies it by the share of the size that has to cross
each link in each direction, so that it can be compared with the link, whatever the number of ranks.
"""

from __future__ import annotations

COLLECTIVES = ("allreduce", "allgather", "reducescatter", "sendrecv")


def bus_factor(collective: str, ranks: int) -> float:
    """By what the algorithm bandwidth is multiplied."""
    if collective == "sendrecv":
        return 1.0
    return (2 if collective == "allreduce" else 1) * (ranks - 1) / ranks


def algorithm_bit_s(size_bytes: int, time_s: float) -> float:
    return 8 * size_bytes / time_s if time_s > 0 else 0.0
