"""One model that takes training steps, and how long they take."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, cast

import torch

from corral.gauges import models
from corral.gauges.pace import Pace
from corral.gauges.sizes import Shape

_WINDOWS = 3
_SLOW_S = 3.0
"""What takes as long as this hardly varies and would take minutes: two windows are enough, warm or not."""
_WARM = 3
_WARM_S = 1.0


@dataclass(frozen=True, slots=True)
class Setting:
    """What is trained, and how."""

    model: str
    form: Shape
    precision: str = "fp32"
    compute_s: float | None = None
    compiled: bool = False
    accumulate: int = 1
    """Steps whose gradients are added up before they are exchanged and used."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Step times: the median of several windows' averages, and the extremes."""

    step_s: float
    least_s: float
    most_s: float
    windows: int
    steps: int


class Trainee:
    """A model, its optimizer and one batch of data on a device. The same on every rank."""

    def __init__(self, setting: Setting, device: Any) -> None:
        torch.manual_seed(0)
        self.device = device
        self.setting = setting
        self.model = models.build(setting.model).to(device)
        self.batch = models.data(setting.model, setting.form, device)
        if device.type == "cuda" and self.batch[0].dim() == 4:
            # Tensor cores want channels last.
            self.model = self.model.to(memory_format=torch.channels_last)
            self.batch = (self.batch[0].to(memory_format=torch.channels_last), self.batch[1])
        self.parameters = models.parameters(self.model)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)
        self.pace = None if setting.compute_s is None else Pace(setting.compute_s)
        if self.pace is not None:
            self.pace.hold(self.model.blocks, self.optimizer)
        self.called: Any = torch.compile(self.model) if setting.compiled else self.model
        self.apart: Callable[[], AbstractContextManager[None]] = nullcontext
        """Within it, gradients are added up and not exchanged."""

    def forward(self) -> Any:
        if self.pace is not None:
            self.pace.begin()
        narrow = torch.autocast(self.device.type, torch.bfloat16) if self.setting.precision == "bf16" else nullcontext()
        with narrow:
            return self.called(*self.batch)

    def steps_together(self) -> None:
        """As many steps as belong together: the last one exchanges gradients and uses them."""
        with self.apart():
            for _ in range(self.setting.accumulate - 1):
                self.forward().backward()
        self.forward().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def run(self, steps: int) -> float:
        """Seconds that so many steps take, until the device has done them. Those that belong together stay so."""
        self.settle()
        began = time.perf_counter()
        for _ in range(steps // self.setting.accumulate):
            self.steps_together()
        self.settle()
        return time.perf_counter() - began

    def phases(self, steps: int) -> dict[str, float]:
        """Seconds of forward, backward and the optimizer alone: medians, with a halt after each."""
        times: dict[str, list[float]] = {"forward_s": [], "backward_s": [], "optimizer_s": []}
        for _ in range(steps):
            self.settle()
            marks = [time.perf_counter()]
            loss = self.forward()
            self._mark(marks)
            loss.backward()
            self._mark(marks)
            self.optimizer.step()
            self._mark(marks)
            self.optimizer.zero_grad()
            for name, begun, ended in zip(times, marks[:-1], marks[1:], strict=True):
                times[name].append(ended - begun)
        return {name: statistics.median(taken) for name, taken in times.items()}

    def _mark(self, marks: list[float]) -> None:
        self.settle()
        marks.append(time.perf_counter())

    def settle(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def timed(run: Callable[[int], float], slowest: Callable[[float], float], budget_s: float, whole: int = 1) -> Timing:
    """`run` takes steps and says how long they took; `slowest` asks all ranks, so that they decide alike."""
    plan = windows(budget_s, whole)
    steps = next(plan)
    while True:
        try:
            steps = plan.send(slowest(run(steps)))
        except StopIteration as end:
            return cast(Timing, end.value)


def windows(budget_s: float, whole: int = 1) -> Generator[int, float, Timing]:
    """Warm up, then time windows that fill the budget: yields how many steps to take, is sent what they took.

    `whole` steps belong together.
    """
    warm = whole
    taken = (yield whole) / whole
    while taken * warm < _WARM_S and warm < _WARM * whole:
        taken = (yield whole) / whole
        warm += whole
    slow = taken * whole > _SLOW_S
    # A first round of several steps does not do all that a round does: it is not counted.
    found = [taken] if slow and whole == 1 else []
    steps = whole * max(1, math.floor(budget_s / _WINDOWS / (taken * whole)))
    while len(found) < (2 if slow else _WINDOWS):
        found.append((yield steps) / steps)
    count = len(found)
    return Timing(statistics.median(found), min(found), max(found), count, steps * count)
