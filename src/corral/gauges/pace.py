"""A stated compute time: real forward and backward of a small batch, held back to the pace of a slower, larger one.

The stated time is that of optimizer, forward and backward together: a third for the first two, two thirds for backward.
At each block's end in forward, and before each parameter's gradient in backward, the process sleeps until the moment
that the schedule gives it. So gradients become ready one after the other as on a real device, communication overlaps
with what is left of backward, and cores are free while it does. What the machine really computes is part of the
wait; a machine that cannot keep the pace is late, and says by how much.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

FORWARD = 1 / 3
"""Of the stated time, with the optimizer; backward computes twice as much."""


def forward_shares(blocks: int) -> list[float]:
    """When each block's forward ends, as a share of the stated time: all blocks take the same."""
    return [FORWARD * (number + 1) / blocks for number in range(blocks)]


def backward_shares(block: int, blocks: int, sizes: list[int]) -> list[float]:
    """When the gradients of a block's parameters are ready: the last block first, large parameters take longer."""
    begun = FORWARD + (1 - FORWARD) * (blocks - 1 - block) / blocks
    total, done, found = sum(sizes), 0, [0.0] * len(sizes)
    for at in reversed(range(len(sizes))):
        done += sizes[at]
        found[at] = begun + (1 - FORWARD) / blocks * done / total
    return found


class Pace:
    """Holds a model to a schedule. `begin` each step; what the optimizer took is part of the step that follows it."""

    def __init__(
        self, compute_s: float, now: Callable[[], float] = time.perf_counter, wait: Callable[[float], None] = time.sleep
    ) -> None:
        self.compute_s = compute_s
        self.late_s: list[float] = []
        """By how much each step's last gradient came after its time."""
        self._now, self._wait = now, wait
        self._began = self._stepping = self._optimizer_s = 0.0

    def hold(self, blocks: Iterable[Any], optimizer: Any) -> None:
        """Hook into the model. Before anything that synchronises is: its waiting must not count as computing."""
        listed = list(blocks)
        forward = forward_shares(len(listed))
        for number, block in enumerate(listed):
            block.register_forward_hook(self._after_block(forward[number]))
            parameters = list(block.parameters())
            ready = backward_shares(number, len(listed), [parameter.numel() for parameter in parameters])
            for parameter, share in zip(parameters, ready, strict=True):
                # Runs before the gradient is stored, which is what starts its exchange.
                parameter.register_hook(self._before_gradient(share, last=number == 0 and share >= 1 - 1e-9))
        optimizer.register_step_pre_hook(self._optimizer_begins)
        optimizer.register_step_post_hook(self._optimizer_ended)

    def begin(self) -> None:
        """A step begins now."""
        self._began = self._now() - self._optimizer_s
        self._optimizer_s = 0.0

    def until(self, share: float) -> float:
        """Sleep until that share of the stated time has passed; by how much it is too late, else 0."""
        left = self._began + share * self.compute_s - self._now()
        if left > 0:
            self._wait(left)
        return max(0.0, -left)

    def _after_block(self, share: float) -> Callable[..., None]:
        def hook(*_: Any) -> None:
            self.until(share)

        return hook

    def _before_gradient(self, share: float, *, last: bool) -> Callable[[Any], None]:
        def hook(_gradient: Any) -> None:
            late = self.until(share)
            if last:
                self.late_s.append(late)

        return hook

    def _optimizer_begins(self, *_: Any) -> None:
        self._stepping = self._now()

    def _optimizer_ended(self, *_: Any) -> None:
        self._optimizer_s = self._now() - self._stepping
