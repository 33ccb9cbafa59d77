"""How many steps are timed: enough of fast ones, few of slow ones, whole rounds always."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

pytest.importorskip("torch")

import torch

from corral.gauges.sizes import Shape
from corral.gauges.stepping import Setting, Timing, Trainee, timed


class _Steps:
    """Steps of a known time; the first takes longer."""

    def __init__(self, step_s: float, first_s: float = 0.0) -> None:
        self.runs: list[int] = []
        self._step_s, self._first_s = step_s, first_s

    def run(self, steps: int) -> float:
        self.runs.append(steps)
        return steps * self._step_s + (self._first_s if len(self.runs) == 1 else 0.0)


def _time(steps: _Steps, budget_s: float, whole: int = 1) -> Timing:
    return timed(steps.run, lambda taken: taken, budget_s, whole)


def test_fast_steps_fill_the_time_in_three_windows_and_warming_up_does_not_count() -> None:
    steps = _Steps(0.01, first_s=0.5)
    timing = _time(steps, 6.0)
    assert timing.step_s == pytest.approx(0.01)
    assert steps.runs == [1, 1, 1, 200, 200, 200]
    assert (timing.windows, timing.steps) == (3, 600)


def test_steps_that_take_seconds_are_taken_twice_in_all() -> None:
    steps = _Steps(7.0)
    assert _time(steps, 6.0).windows == 2
    assert steps.runs == [1, 1]


def test_a_first_round_does_not_count_however_long_it_takes() -> None:
    steps = _Steps(0.7, first_s=30.0)
    assert _time(steps, 6.0, whole=10).step_s == pytest.approx(0.7)
    assert steps.runs == [10, 10, 10]


def test_rounds_are_never_cut() -> None:
    steps = _Steps(0.1)
    _time(steps, 6.0, whole=10)
    assert steps.runs == [10, 20, 20, 20]


def test_the_extremes_are_of_windows() -> None:
    taken = iter([1.0, 1.0, 4.0, 2.0])
    timing = timed(lambda _: next(taken), lambda one: one, 1.0)
    assert timing == Timing(2.0, 1.0, 4.0, 3, 3)


def test_all_ranks_go_by_the_slowest() -> None:
    asked: list[float] = []

    def slowest(taken: float) -> float:
        asked.append(taken)
        return 2 * taken

    assert timed(_Steps(1.0).run, slowest, 1.0).step_s == pytest.approx(2.0)
    assert asked


def test_of_steps_whose_gradients_are_added_up_only_the_last_exchanges_and_uses_them() -> None:
    trainee, seen = Trainee(Setting("gpt-1m", Shape(1, 16), accumulate=3), torch.device("cpu")), []

    @contextmanager
    def apart() -> Iterator[None]:
        seen.append("apart")
        yield
        seen.append("together")

    trainee.apart = apart
    trainee.model.register_forward_hook(lambda *_: seen.append("step"))
    trainee.optimizer.register_step_pre_hook(lambda *_: seen.append("used"))
    trainee.run(6)
    assert seen == ["apart", "step", "step", "together", "step", "used"] * 2
