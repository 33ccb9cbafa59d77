"""DDP's buckets of gradients: what is in each, when it is ready, what is sent for it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from corral.inside.work import Mode, Shape, Work

FIRST_BUCKET_BYTES = 1 << 20
BUCKET_BYTES = 25 << 20
"""As torch's DistributedDataParallel has them."""

_POWERSGD_ROUNDS = 3
"""Vectors, then P, then Q: one all-reduce after the other for each bucket."""
_LEAST_COMPRESSION = 2
"""PowerSGD leaves a matrix alone that it would not make at least this much smaller."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """What is sent for one bucket, and what its node computes for it before and after."""

    gradient_bytes: float
    sent_bytes: float
    rounds: int = 1
    before_s: float = 0.0
    after_s: float = 0.0

    @classmethod
    def of(cls, shapes: Sequence[Shape], work: Work, mode: Mode) -> Bucket:
        size = 4.0 * sum(map(math.prod, shapes))
        if mode.name == "bf16":
            half_s = size / work.device.bf16_byte_s / 2
            return cls(size, size / 2, 1, half_s, half_s)
        if mode.name == "powersgd":
            sent = sum(_compressed_bytes(shape, mode.rank) for shape in shapes)
            half_s = size / work.device.powersgd_byte_s / 2
            return cls(size, sent, _POWERSGD_ROUNDS, half_s, half_s)
        return cls(size, size)


def buckets(work: Work, mode: Mode) -> list[Bucket]:
    """In the order in which they are sent. PowerSGD has one for all."""
    filled = _filled(work)
    if mode.name == "powersgd":
        filled = [[shape for bucket in filled for shape in bucket]]
    return [Bucket.of(shapes, work, mode) for shapes in filled]


def ready_s(found: Sequence[Bucket], work: Work) -> list[float]:
    """When each bucket can be sent, with all that was computed for buckets on the way; the last is backward's end."""
    begin_s = work.step_s * work.backward_from
    backward_s = work.step_s * (work.backward_to - work.backward_from)
    now, done_bytes, ready = begin_s, 0.0, []
    for one in found:
        done_bytes += one.gradient_bytes
        kept_s = begin_s + backward_s * done_bytes / work.gradient_bytes
        computed_s = now + backward_s * one.gradient_bytes / work.gradient_bytes
        now = (max(now, kept_s) if work.stated else computed_s) + one.before_s
        ready.append(now)
    return ready


def _filled(work: Work) -> list[list[Shape]]:
    """As DDP fills them once it has seen in which order gradients become ready."""
    found: list[list[Shape]] = []
    open_bytes, limit = math.inf, FIRST_BUCKET_BYTES
    for shape in reversed(work.shapes or tuple(_even(work.gradient_bytes // 4))):
        if open_bytes >= limit:
            limit = BUCKET_BYTES if found else FIRST_BUCKET_BYTES
            found.append([])
            open_bytes = 0
        found[-1].append(shape)
        open_bytes += 4 * math.prod(shape)
    return found


def _even(parameters: int) -> Iterable[Shape]:
    """Square matrices that together have as many parameters: shapes for a model of which only the size is known."""
    side = max(1, min(1024, math.isqrt(parameters // 8)))
    yield from ((side, side) for _ in range(parameters // side**2))
    if rest := parameters % side**2:
        yield (rest,)


def _compressed_bytes(shape: Shape, rank: int) -> float:
    whole = 4.0 * math.prod(shape)
    if len(shape) < 2:
        return whole
    rows = shape[0]
    columns = math.prod(shape[1:])
    low = 4.0 * min(rank, rows, columns) * (rows + columns)
    return low if low * _LEAST_COMPRESSION < whole else whole
