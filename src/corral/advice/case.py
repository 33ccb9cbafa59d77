"""What advice is asked about: a link, a training step, so many nodes, and where each number comes from."""

from __future__ import annotations

from dataclasses import dataclass

from corral.inside.cost import BF16, DDP, LOCAL, PLAIN, POWERSGD, Link, Mode, Prediction, Work, predict

ACCUMULATED = Mode("ddp", accumulate=8)
LOCAL_8_BITS = Mode("local", bits=8)
MODES = (PLAIN, DDP, ACCUMULATED, BF16, POWERSGD, LOCAL, LOCAL_8_BITS)
"""What is always compared."""

TCP_SHARE = 0.94
"""Of an Ethernet link's nominal rate, left to TCP's content with frames of 1500 bytes."""

MODEL = (
    "ring all-reduce, 2(n-1)/n of the gradients' bytes and 2(n-1) messages per call; DDP's buckets of 1 and 25 MiB are "
    "sent in the order in which backward makes them ready, and what is late is waited for"
)
MEDIAN_ERROR = 0.069
"""Of predicted step times against measured ones: 120 of them, bench/RESULTS.md."""
ERROR_SOURCE = "bench/RESULTS.md, Advice"


@dataclass(frozen=True, slots=True)
class Case:
    """One question. `target` is the efficiency from which more nodes pay."""

    link: Link
    link_source: str
    work: Work
    work_source: str
    nodes: int
    model: str = ""
    target: float = 0.8

    def predict(self, mode: Mode, nodes: int | None = None) -> Prediction:
        return predict(self.work, self.link, mode, nodes or self.nodes)

    def predictions(self) -> list[Prediction]:
        """Every mode on 1 to all nodes."""
        return [self.predict(mode, nodes) for mode in MODES for nodes in range(1, self.nodes + 1)]


def given_link(bit_s: float, text: str) -> tuple[Link, str]:
    """A link of which only the nominal rate is known, and what is assumed about it."""
    link = Link(bit_s * TCP_SHARE)
    assumed = (
        f"{TCP_SHARE:.0%} of it for TCP, {link.plain_share:.0%} of that "
        f"reached by torch's DDP and {link.lanes_share:.0%} on lanes, as measured with gloo"
    )
    return link, f"given: {text}; assumed: {assumed}"


def mode_name(mode: Mode) -> str:
    """For people."""
    if mode.name == "local":
        bits = f", {mode.bits} bit" if mode.bits != 32 else ""
        return f"local steps, H={mode.every}{bits}"
    if mode.accumulate > 1:
        return f"DDP, lanes, {mode.accumulate} steps added up"
    return {"plain": "DDP as torch has it", "ddp": "DDP, lanes", "bf16": "DDP, bf16 gradients"}.get(
        mode.name, f"PowerSGD, rank {mode.rank}"
    )
