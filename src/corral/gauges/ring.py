"""Raw TCP in the pattern of a ring, among nodes that can wait for each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from corral.gauges.tcp import throughput

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Links:
    """Bits per second to the next node; None where no connection could be made."""

    ring_bit_s: float | None
    """While every node sends to its next one and receives from the one before."""
    single_bit_s: float | None
    """While nobody else sends."""


def measure_ring(place: int | None, stations: Sequence[Address], barrier: Callable[[], None]) -> Links:
    """Measure from this node to the next. Whoever has no place only waits with the others."""
    barrier()
    ring = _to_next(place, stations)
    barrier()
    single = None
    for turn in range(len(stations)):
        if turn == place:
            single = _to_next(place, stations)
        barrier()
    return Links(ring, single)


def _to_next(place: int | None, stations: Sequence[Address]) -> float | None:
    if place is None:
        return None
    try:
        return throughput(*stations[(place + 1) % len(stations)])
    except OSError:
        return None
