"""Whether an all-reduce is right and fast enough, and whether a training converged."""

from __future__ import annotations

import pytest

from corral.checks.ladder.jobs import Answer
from corral.checks.ladder.thresholds import Thresholds
from corral.checks.ladder.training import bus_bit_s, judge_total, judge_training, size_for

MIB = 1 << 20
FINE = Answer(0, (), "")


def total(bit_s: float, backend: str = "gloo", wrong: int = 0) -> dict[str, object]:
    """An all-reduce of three ranks that reached so much."""
    size = 64 * MIB
    return {"size_bytes": size, "time_s": 8 * size / bit_s * 4 / 3, "ranks": 3, "wrong": wrong, "backend": backend}


def kinds(told: dict[str, object], raw_bit_s: float, limits: Thresholds | None = None) -> list[str]:
    return [finding.kind for finding in judge_total("lab", told, raw_bit_s, limits or Thresholds())]


def test_bus_bandwidth_is_that_of_nccl_tests() -> None:
    assert bus_bit_s(3 * 10**9, 1.0, 3) == pytest.approx(8 * 3e9 * 4 / 3)


def test_half_of_what_tcp_carries_is_fast_enough() -> None:
    assert kinds(total(0.6e9), 1e9) == []
    assert kinds(total(0.4e9), 1e9) == ["allreduce-slow"]


def test_over_a_link_that_is_faster_than_a_cpu_adds_gloo_is_judged_by_the_cpu_and_nccl_by_the_link() -> None:
    assert kinds(total(2e9), 20e9) == []
    assert kinds(total(2e9, "nccl"), 20e9) == ["allreduce-slow"]


def test_the_owner_s_share_counts_alone() -> None:
    assert kinds(total(0.8e9), 1e9, Thresholds(allreduce_share=0.9)) == ["allreduce-slow"]


def test_a_wrong_sum_is_wrong_however_fast_it_came() -> None:
    assert kinds(total(1e9, wrong=7), 1e9) == ["allreduce-wrong"]


def test_a_slow_link_gets_less_to_carry() -> None:
    assert size_for(93e6, 3) < 8 * MIB
    assert size_for(100e9, 3) == 64 * MIB
    assert size_for(0, 2) == MIB


@pytest.mark.parametrize(
    ("losses", "digests", "fine"),
    [
        ([(0, 1.0), (60, 0.05)], ["a", "a"], True),
        ([(0, 1.0), (60, 0.9)], ["a", "a"], False),
        ([(0, 1.0), (60, float("nan"))], ["a", "a"], False),
        ([(0, 1.0), (60, 0.05)], ["a", "b"], False),
    ],
)
def test_a_training_must_learn_and_all_must_learn_the_same(
    losses: list[tuple[int, float]], digests: list[str], fine: bool
) -> None:
    found = judge_training("lab", losses, {"digests": digests, "ranks": 2}, FINE)
    assert (not found) == fine


def test_a_training_that_broke_off_is_told_in_its_own_words() -> None:
    (finding,) = judge_training("lab", [(0, 1.0)], None, Answer(1, (), "ModuleNotFoundError: No module named 'torch'"))
    assert "No module named 'torch'" in finding.what
