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
from dataclasses import dataclass

from corral.inside.buckets import buckets, ready_s
from corral.inside.queue import Transfer, finished_s
from corral.inside.work import (
    BF16,
    CPU,
    DDP,
    GPU,
    LOCAL,
    PLAIN,
    POWERSGD,
    Device,
    Link,
    Mode,
    Shape,
    Work,
    scaled,
)  # fmt: skip

__all__ = [
    "Link", "Device", "CPU", "GPU", "Work", "Shape", "scaled", "Mode", "PLAIN", "DDP", "BF16", "POWERSGD", "LOCAL",
    "Prediction", "predict", "all_reduce_s",
]  # fmt: skip

_WHOLE_BITS = 32


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
    found, way = buckets(work, mode), _Way.of(link, mode)
    transfers = [
        Transfer(at, _ring_bits(one.sent_bytes, nodes), one.rounds * way.wait_s(nodes))
        for at, one in zip(ready_s(found, work), found, strict=True)
    ]
    done = finished_s(transfers, one_bit_s=way.one_bit_s, all_bit_s=way.all_bit_s, at_once=link.at_once)
    rest_s = work.step_s * (1 - work.backward_to)
    step_s = max(at + one.after_s for at, one in zip(done, found, strict=True)) + rest_s
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


def _local(work: Work, link: Link, mode: Mode, nodes: int) -> Prediction:
    """Steps go on while a fragment is under way; it is waited for where it is late."""
    # Packed numbers come in blocks with a scale each, which adds a bit to every one of them.
    bits = mode.bits if mode.bits == _WHOLE_BITS else mode.bits + 1
    size = work.gradient_bytes / mode.fragments * bits / _WHOLE_BITS
    fragment_bytes = work.gradient_bytes / mode.fragments
    exchange_s = all_reduce_s(size, link, nodes)
    copy_s = fragment_bytes / work.device.copy_byte_s
    device = work.device
    average_s = fragment_bytes / (device.average_byte_s if mode.bits == _WHOLE_BITS else device.packed_byte_s)
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
            under_way.append((step + mode.ahead, link_free_s))
        while under_way and under_way[0][0] <= step:
            now = max(now, under_way.pop(0)[1]) + copy_s / 2
    step_s = (now - lap_s) / mode.every
    return Prediction(mode, nodes, step_s, exchange_s * mode.fragments / mode.every, step_s - work.step_s)
