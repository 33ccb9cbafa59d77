"""What a training step costs on several nodes: the one model behind `corral advise` and `corral.train`'s mode `auto`.

    link = Link(bit_s=2.35e9)                           # raw TCP between two nodes, and what is made of it
    work = Work(step_s=0.18, shapes=((50257, 768), …))  # one step of one node alone; or parameters=124_000_000
    predict(work, link, DDP, nodes=3).step_s
    min((DDP, BF16, Mode("local", every=50)), key=lambda mode: predict(work, link, mode, 3).step_s)

All-reduces are rings: each of n nodes sends and receives 2(n-1)/n of the bytes, in 2(n-1) messages one after the other.
DDP's buckets (1 MiB, then 25 MiB) become ready as the backward pass goes through the parameters, last ones first; the
link serves them in that order. What is not done when the backward pass ends is waited for: the exposed part.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from corral.inside.queue import Transfer, finished_s

Shape = tuple[int, ...]

FIRST_BUCKET_BYTES = 1 << 20
BUCKET_BYTES = 25 << 20
"""As torch's DistributedDataParallel has them."""

# Passes over the gradients that a mode makes besides its exchange, counted in torch's hooks.
_BF16_PASSES = 2
_POWERSGD_PASSES = 8
_OUTER_PASSES = 6
_POWERSGD_ROUNDS = 3
"""Vectors, then P, then Q: one all-reduce after the other for each bucket."""
_LEAST_COMPRESSION = 2
"""PowerSGD leaves a matrix alone that it would not make at least this much smaller."""


@dataclass(frozen=True, slots=True)
class Link:
    """What lies between the nodes, and how much of it all-reduces reach. Without measurement: gloo on 2.5 Gbit/s."""

    bit_s: float
    """Raw TCP, one direction."""
    latency_s: float = 150e-6
    """Of one message of a ring, from one node to the next."""
    plain_share: float = 0.5
    """Of `bit_s`, reached by one all-reduce alone as torch comes."""
    lanes_share: float = 0.95
    """Of `bit_s`, reached on several lanes."""
    at_once: int = 2
    """All-reduces of one group that are under way at a time: gloo has two threads, NCCL one stream."""


@dataclass(frozen=True, slots=True)
class Work:
    """One training step of one node, with nothing exchanged."""

    step_s: float
    parameters: int = 0
    """Their number, where the shapes are not known."""
    shapes: tuple[Shape, ...] = ()
    """Of all parameters, in the model's order."""
    batch: int = 1
    """Samples of a step on one node."""
    backward_from: float = 1 / 3
    """The share of the step after which gradients begin to be ready."""
    backward_to: float = 1.0
    """The share after which all are; the optimizer follows."""
    pass_byte_s: float = 500e9
    """How many bytes of gradients the device reads, changes and writes in a second."""

    @property
    def gradient_bytes(self) -> int:
        """Gradients are of 32 bits unless a mode makes them smaller."""
        return 4 * (sum(map(math.prod, self.shapes)) or self.parameters)


@dataclass(frozen=True, slots=True)
class Mode:
    """How nodes are kept together: one of `corral.train`'s modes with its options."""

    name: str
    accumulate: int = 1
    """Steps whose gradients are added up before one exchange."""
    rank: int = 4
    """Of PowerSGD's matrices."""
    every: int = 50
    """`local`: steps between two averages of the same parameters."""
    fragments: int = 4
    """`local`: parts that are averaged in turn."""
    overlap: int = 5
    """`local`: steps that an average may take before it is waited for."""
    bits: int = 32
    """`local`: of an exchanged number."""


PLAIN = Mode("plain")
DDP = Mode("ddp")
BF16 = Mode("bf16")
POWERSGD = Mode("powersgd")
LOCAL = Mode("local")


@dataclass(frozen=True, slots=True)
class Prediction:
    """Of the average step. Every node does `Work.batch` samples in it."""

    mode: Mode
    nodes: int
    step_s: float
    exchange_s: float
    """How long the link is at work for it."""
    exposed_s: float
    """What the step takes longer than on one node alone."""

    @property
    def speedup(self) -> float:
        """Samples per second, as a multiple of one node's."""
        return self.nodes * self.efficiency

    @property
    def efficiency(self) -> float:
        """The share of what as many independent nodes would do."""
        alone_s = self.step_s - self.exposed_s
        return alone_s / self.step_s if math.isfinite(self.step_s) else 0.0


def predict(work: Work, link: Link, mode: Mode, nodes: int) -> Prediction:
    """How long an average step takes."""
    if nodes == 1 or not work.gradient_bytes:
        return Prediction(mode, nodes, work.step_s, 0.0, 0.0)
    if mode.name == "local":
        return _local(work, link, mode, nodes)
    buckets = [_Bucket.of(one, work, mode) for one in _buckets(work)]
    transfers, end_s = _timeline(buckets, work, link, nodes)
    rate = _rates(link, mode)
    done = finished_s(transfers, one_bit_s=rate.one, all_bit_s=rate.all, at_once=link.at_once)
    rest_s = work.step_s * (1 - work.backward_to)
    step_s = max([end_s, *(at + one.after_s for at, one in zip(done, buckets, strict=True))]) + rest_s
    exchange_s = sum(one.wait_s + _seconds(one.bits, rate.all) for one in transfers)
    exposed_s = (step_s - work.step_s) / mode.accumulate
    return Prediction(mode, nodes, work.step_s + exposed_s, exchange_s / mode.accumulate, exposed_s)


def all_reduce_s(size_bytes: float, link: Link, nodes: int, *, lanes: bool = True) -> float:
    """How long one all-reduce takes."""
    rate = _rates(link, DDP if lanes else PLAIN)
    return _ring_wait_s(link, nodes) + _seconds(_ring_bits(size_bytes, nodes), rate.one)


@dataclass(frozen=True, slots=True)
class _Rates:
    one: float
    all: float


def _rates(link: Link, mode: Mode) -> _Rates:
    lanes = link.bit_s * link.lanes_share
    # PowerSGD is torch's own hook: it knows no lanes.
    return _Rates(link.bit_s * link.plain_share, lanes) if mode.name in ("plain", "powersgd") else _Rates(lanes, lanes)


def _ring_bits(size_bytes: float, nodes: int) -> float:
    return 8 * size_bytes * 2 * (nodes - 1) / nodes


def _ring_wait_s(link: Link, nodes: int) -> float:
    return 2 * (nodes - 1) * link.latency_s


def _seconds(bits: float, bit_s: float) -> float:
    return bits / bit_s if bit_s else math.inf


def _buckets(work: Work) -> list[list[Shape]]:
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


@dataclass(frozen=True, slots=True)
class _Bucket:
    """What is sent for one bucket, and what its node computes for it before and after."""

    ready_bytes: float
    sent_bytes: float
    rounds: int = 1
    before_s: float = 0.0
    after_s: float = 0.0

    @classmethod
    def of(cls, shapes: Sequence[Shape], work: Work, mode: Mode) -> _Bucket:
        size = 4.0 * sum(map(math.prod, shapes))
        pass_s = size / work.pass_byte_s
        if mode.name == "bf16":
            return cls(size, size / 2, 1, pass_s * _BF16_PASSES / 2, pass_s * _BF16_PASSES / 2)
        if mode.name == "powersgd":
            sent = sum(_compressed_bytes(shape, mode.rank) for shape in shapes)
            return cls(size, sent, _POWERSGD_ROUNDS, pass_s * _POWERSGD_PASSES / 2, pass_s * _POWERSGD_PASSES / 2)
        return cls(size, size)


def _compressed_bytes(shape: Shape, rank: int) -> float:
    whole = 4.0 * math.prod(shape)
    if len(shape) < 2:
        return whole
    rows = shape[0]
    columns = math.prod(shape[1:])
    low = 4.0 * min(rank, rows, columns) * (rows + columns)
    return low if low * _LEAST_COMPRESSION < whole else whole


def _timeline(buckets: Sequence[_Bucket], work: Work, link: Link, nodes: int) -> tuple[list[Transfer], float]:
    """The transfers in order, and when the backward pass ends, with all that was computed for buckets on the way."""
    backward_s = work.step_s * (work.backward_to - work.backward_from)
    now = work.step_s * work.backward_from
    transfers = []
    for one in buckets:
        now += backward_s * one.ready_bytes / work.gradient_bytes + one.before_s
        transfers.append(Transfer(now, _ring_bits(one.sent_bytes, nodes), one.rounds * _ring_wait_s(link, nodes)))
    return transfers, now


def _local(work: Work, link: Link, mode: Mode, nodes: int) -> Prediction:
    """Steps go on while a fragment is under way; it is waited for where it is late."""
    size = work.gradient_bytes / mode.fragments * mode.bits / 32
    exchange_s = all_reduce_s(size, link, nodes)
    outer_s = _OUTER_PASSES * work.gradient_bytes / mode.fragments / work.pass_byte_s
    begins = {round(one * mode.every / mode.fragments) for one in range(mode.fragments)}
    now = link_free_s = lap_s = 0.0
    under_way: list[tuple[int, float]] = []
    # The first round fills the pipe, the second is what every later one is like.
    for step in range(2 * mode.every):
        if step == mode.every:
            lap_s = now
        now += work.step_s
        if step % mode.every in begins:
            link_free_s = max(now, link_free_s) + exchange_s
            under_way.append((step + mode.overlap, link_free_s))
        while under_way and under_way[0][0] <= step:
            now = max(now, under_way.pop(0)[1]) + outer_s
    step_s = (now - lap_s) / mode.every
    return Prediction(mode, nodes, step_s, exchange_s * mode.fragments / mode.every, step_s - work.step_s)


def scaled(work: Work, factor: float) -> Work:
    """The same model with a batch, and so a step, that is larger by a factor."""
    return replace(work, step_s=work.step_s * factor, batch=round(work.batch * factor))
