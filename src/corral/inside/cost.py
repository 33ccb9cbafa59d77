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

_WHOLE_BITS = 32
_POWERSGD_ROUNDS = 3
"""Vectors, then P, then Q: one all-reduce after the other for each bucket."""
_LEAST_COMPRESSION = 2
"""PowerSGD leaves a matrix alone that it would not make at least this much smaller."""


@dataclass(frozen=True, slots=True)
class Link:
    """What lies between the nodes, and how much of it all-reduces reach. Without measurement: gloo on 2.5 Gbit/s."""

    bit_s: float
    """Raw TCP, one direction."""
    plain_share: float = 0.5
    """Of `bit_s`, reached by one all-reduce alone as torch comes."""
    lanes_share: float = 0.95
    """Of `bit_s`, reached on several lanes."""
    plain_latency_s: float = 200e-6
    """Of one message of a ring, from one node to the next."""
    lanes_latency_s: float = 400e-6
    """The same where every message is several."""
    at_once: int = 2
    """All-reduces of one group that are under way at a time: gloo has two threads, NCCL one stream."""


@dataclass(frozen=True, slots=True)
class Device:
    """How fast a node does what a mode costs besides the exchange: bytes of gradients in a second."""

    bf16_byte_s: float
    """Rounded, and back."""
    powersgd_byte_s: float
    copy_byte_s: float
    """`local`: out of the model and back into it. Training waits for it."""
    average_byte_s: float
    """`local`: the outer optimizer's step, which goes on beside the training."""


CPU = Device(bf16_byte_s=6e9, powersgd_byte_s=0.5e9, copy_byte_s=2e9, average_byte_s=1.5e9)
"""One core of a server, measured with torch 2.13."""
GPU = Device(bf16_byte_s=500e9, powersgd_byte_s=60e9, copy_byte_s=2e9, average_byte_s=1.5e9)
"""Estimated from memory bandwidth and PCIe; `local` averages on the CPU."""


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
    device: Device = GPU
    stated: bool = False
    """The step's time is kept by sleeping, as in a benchmark without GPUs: what hooks compute fits into the sleep."""

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
    way = _Way.of(link, mode)
    transfers, end_s = _timeline(buckets, work, way, nodes)
    done = finished_s(transfers, one_bit_s=way.one_bit_s, all_bit_s=way.all_bit_s, at_once=link.at_once)
    rest_s = work.step_s * (1 - work.backward_to)
    step_s = max([end_s, *(at + one.after_s for at, one in zip(done, buckets, strict=True))]) + rest_s
    exchange_s = sum(one.wait_s + _seconds(one.bits, way.all_bit_s) for one in transfers)
    exposed_s = (step_s - work.step_s) / mode.accumulate
    return Prediction(mode, nodes, work.step_s + exposed_s, exchange_s / mode.accumulate, exposed_s)


def all_reduce_s(size_bytes: float, link: Link, nodes: int, *, lanes: bool = True) -> float:
    """How long one all-reduce takes."""
    way = _Way.of(link, DDP if lanes else PLAIN)
    return way.wait_s(nodes) + _seconds(_ring_bits(size_bytes, nodes), way.one_bit_s)


@dataclass(frozen=True, slots=True)
class _Way:
    """How fast one exchange is alone, and several at once."""

    one_bit_s: float
    all_bit_s: float
    latency_s: float

    @classmethod
    def of(cls, link: Link, mode: Mode) -> _Way:
        lanes = link.bit_s * link.lanes_share
        if mode.name in ("plain", "powersgd"):
            # PowerSGD is torch's own hook: it knows no lanes.
            plain = link.bit_s * link.plain_share
            return cls(plain, max(plain, lanes), link.plain_latency_s)
        return cls(lanes, lanes, link.lanes_latency_s)

    def wait_s(self, nodes: int) -> float:
        return 2 * (nodes - 1) * self.latency_s


def _ring_bits(size_bytes: float, nodes: int) -> float:
    return 8 * size_bytes * 2 * (nodes - 1) / nodes


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
        if mode.name == "bf16":
            half_s = size / work.device.bf16_byte_s / 2
            return cls(size, size / 2, 1, half_s, half_s)
        if mode.name == "powersgd":
            sent = sum(_compressed_bytes(shape, mode.rank) for shape in shapes)
            half_s = size / work.device.powersgd_byte_s / 2
            return cls(size, sent, _POWERSGD_ROUNDS, half_s, half_s)
        return cls(size, size)


def _compressed_bytes(shape: Shape, rank: int) -> float:
    whole = 4.0 * math.prod(shape)
    if len(shape) < 2:
        return whole
    rows = shape[0]
    columns = math.prod(shape[1:])
    low = 4.0 * min(rank, rows, columns) * (rows + columns)
    return low if low * _LEAST_COMPRESSION < whole else whole


def _timeline(buckets: Sequence[_Bucket], work: Work, way: _Way, nodes: int) -> tuple[list[Transfer], float]:
    """The transfers in order, and when the backward pass ends, with all that was computed for buckets on the way."""
    begin_s = work.step_s * work.backward_from
    backward_s = work.step_s * (work.backward_to - work.backward_from)
    now, done_bytes = begin_s, 0.0
    transfers = []
    for one in buckets:
        done_bytes += one.ready_bytes
        kept_s = begin_s + backward_s * done_bytes / work.gradient_bytes
        computed_s = now + backward_s * one.ready_bytes / work.gradient_bytes
        now = (max(now, kept_s) if work.stated else computed_s) + one.before_s
        transfers.append(Transfer(now, _ring_bits(one.sent_bytes, nodes), one.rounds * way.wait_s(nodes)))
    return transfers, now


def _local(work: Work, link: Link, mode: Mode, nodes: int) -> Prediction:
    """Steps go on while a fragment is under way; it is waited for where it is late."""
    # Packed numbers come in blocks with a scale each, which adds a bit to every one of them.
    bits = mode.bits if mode.bits == _WHOLE_BITS else mode.bits + 1
    size = work.gradient_bytes / mode.fragments * bits / _WHOLE_BITS
    fragment_bytes = work.gradient_bytes / mode.fragments
    exchange_s = all_reduce_s(size, link, nodes)
    copy_s = fragment_bytes / work.device.copy_byte_s
    average_s = fragment_bytes / work.device.average_byte_s
    begins = {round(one * mode.every / mode.fragments) for one in range(mode.fragments)}
    now = link_free_s = lap_s = 0.0
    under_way: list[tuple[int, float]] = []
    # The first round fills the pipe, the second is what every later one is like.
    for step in range(2 * mode.every):
        if step == mode.every:
            lap_s = now
        now += work.step_s
        if step % mode.every in begins:
            now += copy_s / 2
            link_free_s = max(now, link_free_s) + exchange_s + average_s
            under_way.append((step + mode.overlap, link_free_s))
        while under_way and under_way[0][0] <= step:
            now = max(now, under_way.pop(0)[1]) + copy_s / 2
    step_s = (now - lap_s) / mode.every
    return Prediction(mode, nodes, step_s, exchange_s * mode.fragments / mode.every, step_s - work.step_s)


def scaled(work: Work, factor: float) -> Work:
    """The same model with a batch, and so a step, that is larger by a factor."""
    return replace(work, step_s=work.step_s * factor, batch=round(work.batch * factor))
