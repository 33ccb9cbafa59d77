"""Modes in which every step's gradients are averaged: torch's DistributedDataParallel with hooks of ours.

`plain` is DDP as it comes. `ddp` sends its buckets over lanes, `bf16` does so with half the bytes, `powersgd` sends two
thin matrices for each thick one (torch's own hook; what it leaves out is added to the next step's gradients).
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel

from corral.inside.group import say
from corral.train.lanes import Lanes

Tensor = Any

MODES = ("plain", "ddp", "bf16", "powersgd")
POWERSGD_RANK = 4
_POWERSGD_FROM = 10
"""Steps with whole gradients at first: the very first ones are large and unlike each other."""


class Gradients:
    """A model whose gradients are the ranks' mean when `backward` has returned."""

    def __init__(self, model: Any, mode: str, lanes: Lanes) -> None:
        self.name = mode
        self._lanes = lanes
        self._settling = True
        self.on_bucket: Callable[[], None] | None = None
        """Called when gradients are ready, before they are exchanged."""
        self._powersgd = _powersgd_state(lanes) if mode == "powersgd" else None
        self.model = DistributedDataParallel(
            model,
            process_group=lanes.groups[0],
            bucket_cap_mb=_bucket_cap_mb(model, lanes) if self._powersgd else None,
            # It would send all parameters to everybody, even to ranks that have made the same ones.
            init_sync=not lanes.agree([*model.parameters(), *model.buffers()]),
        )
        if mode != "plain":
            # No annotations: DDP compares them with its own types.
            self.model.register_comm_hook(None, lambda _, bucket: self._reduce(bucket))
        self._settle_buckets()
        self._settling = False

    def switch(self, mode: str) -> None:
        """Go on as `ddp` or `bf16`."""
        self.name = mode

    def stepped(self) -> None:
        """All is done before the optimizer's step."""

    def paused(self) -> contextlib.AbstractContextManager[None]:
        """Within it gradients add up and are not exchanged."""
        pause: contextlib.AbstractContextManager[None] = self.model.no_sync()
        return pause

    def shared(self) -> contextlib.AbstractContextManager[None]:
        """All ranks have the same parameters anyway."""
        return contextlib.nullcontext()

    def close(self) -> None:
        """Nothing is under way between steps."""

    def state_dict(self) -> dict[str, Any]:
        """Nothing but what each rank has of its own."""
        return {"ranks": self._lanes.size}

    def rank_state_dict(self) -> dict[str, Any] | None:
        """What PowerSGD has not sent yet."""
        if self._powersgd is None:
            return None
        slots = (slot for slot in self._powersgd.__slots__ if slot != "process_group")
        return {slot: getattr(self._powersgd, slot) for slot in slots}

    def load_state_dict(self, _state: dict[str, Any]) -> None:
        """Nothing is shared."""

    def load_rank_state_dict(self, state: dict[str, Any] | None) -> None:
        """Go on as this very rank."""
        if self._powersgd is None:
            return
        if state is None:
            say("mode powersgd continues on another number of ranks: what it had not sent yet is lost")
            return
        for slot, value in state.items():
            setattr(self._powersgd, slot, value)

    def follow_model(self) -> None:
        """The model's own parameters are all there is."""

    def _reduce(self, bucket: Any) -> Any:
        buffer = bucket.buffer()
        if self._settling:
            return _done(buffer)
        if self.on_bucket is not None:
            self.on_bucket()
        if self._powersgd is not None:
            from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

            self._powersgd.process_group = self._lanes.groups[bucket.index() % len(self._lanes.groups)]
            return powerSGD_hook.powerSGD_hook(self._powersgd, bucket)
        if self.name == "bf16":
            short = buffer.to(torch.bfloat16).div_(self._lanes.size)
            return self._lanes.all_reduce(short).then(lambda done: buffer.copy_(done.value()))
        return self._lanes.all_reduce(buffer.div_(self._lanes.size))

    def _settle_buckets(self) -> None:
        """Let DDP order its buckets now.

        It does so after the first backward pass of a process, and in another order sums are rounded otherwise: a run
        that continues would differ from one that never stopped. One pass over gradients that are all zero settles it.
        """
        parameters = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        reducer = self.model.reducer
        reducer.prepare_for_forward()
        reducer.prepare_for_backward([])
        sum(parameter.sum() * 0 for parameter in parameters).backward()
        for parameter in parameters:
            parameter.grad = None
        reducer._rebuild_buckets()


def _powersgd_state(lanes: Lanes) -> Any:
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

    logging.getLogger(powerSGD_hook.__name__).setLevel(logging.WARNING)  # it describes itself at length
    return powerSGD_hook.PowerSGDState(
        process_group=lanes.groups[0],
        matrix_approximation_rank=POWERSGD_RANK,
        start_powerSGD_iter=_POWERSGD_FROM,
    )


def _bucket_cap_mb(model: Any, lanes: Lanes) -> float | None:
    """Large enough for no more buckets than lanes.

    torch's hook exchanges three things of a bucket, each when the one before has come. With gloo that is in some thread
    at some time, so two buckets on one group would meet each other's numbers.
    """
    if lanes.backend != "gloo":
        return None
    parameters = list(model.parameters())
    total = sum(parameter.numel() * parameter.element_size() for parameter in parameters)
    # A bucket holds one type, and is closed when it is full: these are at most as many as there are lanes.
    full = max(1, len(lanes.groups) // len({parameter.dtype for parameter in parameters}))
    return float(1 + total / full / (1 << 20))


def _done(value: Tensor) -> Any:
    future = torch.futures.Future()
    future.set_result(value)
    return future
