"""Mode `auto`: a few real steps and a few all-reduces are timed, then the cost model says which mode pays.

The steps are ordinary ones of mode `ddp`. A step's compute time is all of it but the wait for the last gradients: from
the end of the last optimizer's step until the last bucket of gradients is ready, and the optimizer's step.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from corral.inside import cost, group
from corral.train.gradients import Gradients
from corral.train.lanes import Lanes
from corral.train.local import Local, LocalOptions

_TIMED_STEPS = 3
_WARM_STEPS = 1
_PROBE_BYTES = 4 << 20
_PROBES = 3
CHOICES = ("ddp", "bf16", "local")
_WELL = 0.9
"""A mode that gets this much out of the nodes is good enough, and the one that changes the training least is taken."""


class Auto:
    """Begins as `ddp`; afterwards it is what was chosen."""

    def __init__(
        self, model: Any, optimizer: Any, lanes: Lanes, gloo_lanes: Callable[[], Lanes], options: LocalOptions
    ) -> None:
        self.name = "auto"
        self._bare, self._optimizer, self._lanes, self._options = model, optimizer, lanes, options
        self._gloo_lanes = gloo_lanes
        self._way: Gradients | Local = Gradients(model, "ddp", lanes)
        self.model = _Shell(model, self._way.model)
        self._watch: _Watch | None = _Watch(self._way, optimizer)

    def stepped(self) -> None:
        if self._watch is None:
            self._way.stepped()
        elif self._watch.step_ended():
            self._decide(self._watch)

    def take(self, mode: str) -> None:
        """Go on in this mode."""
        if self._watch is not None:
            self._watch.remove()
            self._watch = None
        if mode == "local":
            lanes = self._lanes if self._lanes.backend == "gloo" else self._gloo_lanes()
            self._way = Local(self._bare, self._optimizer, lanes, self._options)
            self.model.call(self._bare)
        elif isinstance(self._way, Gradients):
            self._way.switch(mode)
        self.name = mode

    def paused(self) -> contextlib.AbstractContextManager[None]:
        return self._way.paused()

    def shared(self) -> contextlib.AbstractContextManager[None]:
        return self._way.shared()

    def close(self) -> None:
        self._way.close()

    def state_dict(self) -> dict[str, Any]:
        return self._way.state_dict()

    def rank_state_dict(self) -> dict[str, Any] | None:
        return self._way.rank_state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._way.load_state_dict(state)

    def load_rank_state_dict(self, state: dict[str, Any] | None) -> None:
        self._way.load_rank_state_dict(state)

    def follow_model(self) -> None:
        self._way.follow_model()

    def _decide(self, watch: _Watch) -> None:
        # Everybody waits for the slowest, so its times count, and all ranks decide alike.
        slowest = _highest([watch.compute_s, watch.backward_from, _probe_s(self._lanes)], self._lanes)
        shapes = tuple(tuple(parameter.shape) for parameter in self._bare.parameters() if parameter.requires_grad)
        work = cost.Work(step_s=slowest[0], shapes=shapes, backward_from=min(0.95, slowest[1]))
        link = link_of(slowest[2], self._lanes.size)
        chosen = choose(work, link, self._lanes.size, self._options)
        group.say(
            f"mode auto: {chosen.mode.name}. A step computes {1e3 * work.step_s:.0f} ms, the link carries "
            f"{link.bit_s / 1e9:.2g} Gbit/s, {work.gradient_bytes / 1e6:.1f} MB of gradients: expected "
            f"{chosen.speedup:.2f} times one node on {self._lanes.size}"
        )
        self.take(chosen.mode.name)


def link_of(probe_s: float, nodes: int) -> cost.Link:
    """The link on which an all-reduce of the probe over lanes takes so long."""
    unknown = cost.Link(bit_s=1.0)
    bits = 8 * _PROBE_BYTES * 2 * (nodes - 1) / nodes
    return cost.Link(bit_s=bits / probe_s / unknown.lanes_share)


def choose(work: cost.Work, link: cost.Link, nodes: int, options: LocalOptions) -> cost.Prediction:
    """The first mode that gets nearly all out of the nodes, those that change the training least first; or the best."""
    local = cost.Mode(
        "local", every=options.every, fragments=options.fragments, overlap=options.overlap, bits=options.bits
    )
    predicted = [cost.predict(work, link, mode, nodes) for mode in (cost.DDP, cost.BF16, local)]
    good = [one for one in predicted if one.efficiency >= _WELL]
    return good[0] if good else max(predicted, key=lambda one: one.efficiency)


class _Shell(nn.Module):
    """The model as the loop calls it, while the mode behind it may change."""

    def __init__(self, module: Any, called: Any) -> None:
        super().__init__()
        self.module = module
        self.call(called)

    def call(self, called: Any) -> None:
        self._called = (called,)  # in a tuple, so that it is no submodule

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._called[0](*args, **kwargs)


class _Watch:
    """Stops the time of the first steps."""

    def __init__(self, way: Gradients, optimizer: Any) -> None:
        self._way = way
        self._hook = optimizer.register_step_pre_hook(lambda *_: self._optimizing())
        way.on_bucket = self._bucket
        self._began_s = self._first_s = self._last_s = self._step_s = 0.0
        self._computed: list[float] = []
        self._until_first: list[float] = []

    def step_ended(self) -> bool:
        """Whether enough have been seen."""
        now = _now_s()
        if self._began_s:
            computed = self._last_s - self._began_s + now - self._step_s
            self._computed.append(computed)
            self._until_first.append((self._first_s - self._began_s) / computed)
        self._began_s, self._first_s = now, 0.0
        return len(self._computed) == _WARM_STEPS + _TIMED_STEPS

    @property
    def compute_s(self) -> float:
        return statistics.median(self._computed[_WARM_STEPS:])

    @property
    def backward_from(self) -> float:
        return statistics.median(self._until_first[_WARM_STEPS:])

    def remove(self) -> None:
        self._hook.remove()
        self._way.on_bucket = None

    def _bucket(self) -> None:
        self._last_s = _now_s()
        self._first_s = self._first_s or self._last_s

    def _optimizing(self) -> None:
        self._step_s = _now_s()


def _now_s() -> float:
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.current_stream().synchronize()  # the computing stream only; NCCL has its own
    return time.perf_counter()


def _probe_s(lanes: Lanes) -> float:
    device = "cuda" if lanes.backend == "nccl" else "cpu"
    taken = []
    for _ in range(1 + _PROBES):
        tensor = torch.zeros(_PROBE_BYTES // 4, device=device)
        began = _now_s()
        lanes.all_reduce(tensor).wait()
        taken.append(_now_s() - began)
    return statistics.median(taken[1:])


def _highest(values: list[float], lanes: Lanes) -> list[float]:
    device = "cuda" if lanes.backend == "nccl" else "cpu"
    tensor = torch.tensor(values, dtype=torch.float64, device=device)
    torch.distributed.all_reduce(tensor, op=torch.distributed.ReduceOp.MAX, group=lanes.groups[0])
    return [float(value) for value in tensor.tolist()]
