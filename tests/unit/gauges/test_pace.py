"""A stated compute time: when what is due, and that a real model keeps to it."""

from __future__ import annotations

import pytest

from corral.gauges.pace import Pace, backward_shares, forward_shares


def test_forward_takes_a_third_and_backward_goes_from_the_last_block_to_the_first() -> None:
    assert forward_shares(2) == pytest.approx([1 / 6, 1 / 3])
    assert backward_shares(1, 2, [10, 30]) == pytest.approx([2 / 3, 7 / 12])
    assert backward_shares(0, 2, [10, 30]) == pytest.approx([1.0, 11 / 12])


class _Clock:
    """Time that passes only while somebody sleeps or computes."""

    def __init__(self) -> None:
        self.time = 100.0

    def now(self) -> float:
        return self.time

    def pass_by(self, seconds: float) -> None:
        self.time += seconds


def _pace(clock: _Clock) -> Pace:
    return Pace(0.2, now=clock.now, wait=clock.pass_by)


def test_what_was_computed_is_part_of_the_wait() -> None:
    clock = _Clock()
    pace = _pace(clock)
    pace.begin()
    clock.pass_by(0.03)
    assert pace.until(0.5) == 0.0
    assert clock.time == pytest.approx(100.1)


def test_a_machine_that_is_too_slow_says_how_late_it_was() -> None:
    clock = _Clock()
    pace = _pace(clock)
    pace.begin()
    clock.pass_by(0.15)
    assert pace.until(0.5) == pytest.approx(0.05)
    assert clock.time == pytest.approx(100.15)


def test_a_models_gradients_become_ready_one_after_the_other() -> None:
    torch = pytest.importorskip("torch")
    clock = _Clock()
    pace = _pace(clock)
    model = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(4)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    pace.hold(model, optimizer)
    ready: list[float] = []
    for block in model:
        block.weight.register_post_accumulate_grad_hook(lambda _: ready.append(clock.time - 100))
    pace.begin()
    loss = model(torch.ones(1, 4)).sum()
    assert clock.time == pytest.approx(100 + 0.2 / 3)
    loss.backward()
    optimizer.step()
    assert clock.time == pytest.approx(100.2)
    assert ready == pytest.approx([0.1, 0.4 / 3, 0.5 / 3, 0.2])
    assert pace.late_s == [0.0]


def test_the_optimizer_is_part_of_the_stated_time_but_what_follows_it_is_not() -> None:
    clock = _Clock()
    pace = _pace(clock)
    optimizer = _Optimizer()
    pace.hold([], optimizer)
    pace.begin()
    pace.until(1.0)
    optimizer.step(lambda: clock.pass_by(0.02))
    clock.pass_by(0.5)
    pace.begin()
    pace.until(1.0)
    assert clock.time == pytest.approx(100 + 0.2 + 0.02 + 0.5 + 0.18)


class _Optimizer:
    """Just the hooks of one."""

    def register_step_pre_hook(self, hook: object) -> None:
        self.before = hook

    def register_step_post_hook(self, hook: object) -> None:
        self.after = hook

    def step(self, work: object) -> None:
        for part in (self.before, work, self.after):
            assert callable(part)
            part()
