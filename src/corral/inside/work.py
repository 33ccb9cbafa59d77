"""What the cost of a training step depends on: a link, a step of one node, a way to keep nodes together."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """What lies between the nodes, and how much of it all-reduces reach. Without measurement: gloo on 2.5 Gbit/s."""

    bit_s: float
    """Raw TCP, one direction."""
    plain_share: float = 0.94
    """Of `bit_s`, reached by one all-reduce alone as torch comes."""
    lanes_share: float = 0.96
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
    packed_byte_s: float
    """The same where numbers are packed into 8 or 4 bits."""


CPU = Device(bf16_byte_s=6e9, powersgd_byte_s=0.5e9, copy_byte_s=2e9, average_byte_s=1.5e9, packed_byte_s=0.2e9)
"""One core of a server, measured with torch 2.13."""
GPU = Device(bf16_byte_s=110e9, powersgd_byte_s=8e9, copy_byte_s=25e9, average_byte_s=3e9, packed_byte_s=0.4e9)
"""An H200, and 16 cores on which `local` averages; measured with torch 2.11 and 124 million parameters."""


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
    overlap: int | None = None
    """`local`: steps that an average may take before it is waited for; None is `usual_overlap`."""
    bits: int = 32
    """`local`: of an exchanged number."""

    @property
    def ahead(self) -> int:
        return usual_overlap(self.every, self.fragments) if self.overlap is None else self.overlap


def usual_overlap(every: int, fragments: int) -> int:
    """An average may take until the next fragment's begins, so that the link can be busy all the time."""
    return min(every - 1, max(1, every // fragments - 1))


PLAIN = Mode("plain")
DDP = Mode("ddp")
BF16 = Mode("bf16")
POWERSGD = Mode("powersgd")
LOCAL = Mode("local")


def scaled(work: Work, factor: float) -> Work:
    """The same model with a batch, and so a step, that is larger by a factor."""
    return replace(work, step_s=work.step_s * factor, batch=round(work.batch * factor))
