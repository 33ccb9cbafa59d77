"""The cost model against cases that can be computed by hand, and at its limits."""

from __future__ import annotations

from itertools import pairwise

import pytest

from corral.inside.cost import BF16, DDP, LOCAL, PLAIN, POWERSGD, Device, Link, Mode, Work, all_reduce_s, predict
from corral.inside.queue import Transfer, finished_s

MIB = 1 << 20
ALL = (PLAIN, DDP, BF16, POWERSGD, LOCAL, Mode("ddp", accumulate=4), Mode("local", bits=4))
GPT2 = Work(step_s=0.18, parameters=124_000_000)
FREE = Device(*(1e18,) * 5)
IDEAL = Link(1e9, plain_share=1, lanes_share=1, plain_latency_s=0, lanes_latency_s=0)


def test_a_ring_moves_each_byte_twice_but_for_a_node_s_own_share() -> None:
    # 2 (3-1)/3 of 3 MB are 4 MB, 32 Mbit: 32 ms at 1 Gbit/s, and 4 messages of 1 ms one after the other.
    link = Link(1e9, plain_share=0.5, lanes_share=1, plain_latency_s=2e-3, lanes_latency_s=1e-3)
    assert all_reduce_s(3_000_000, link, 3) == pytest.approx(0.036)
    assert all_reduce_s(3_000_000, link, 3, lanes=False) == pytest.approx(0.072)


def test_one_bucket_is_exchanged_after_the_backward_pass_and_nothing_hides_it() -> None:
    # A single tensor is ready when backward ends: 0.1 s of work, then 1.25 MB, 10 Mbit, in 10 ms between two nodes.
    work = Work(step_s=0.1, shapes=((312_500,),))
    found = predict(work, IDEAL, DDP, 2)
    assert found.step_s == pytest.approx(0.11)
    assert found.exposed_s == pytest.approx(0.01)
    assert found.efficiency == pytest.approx(0.1 / 0.11)
    assert found.speedup == pytest.approx(2 * 0.1 / 0.11)


def test_early_buckets_travel_while_later_gradients_are_computed() -> None:
    # Two equal tensors above a bucket's size: the first is ready half way through backward and hides in the other half.
    tensor = (8 * MIB,)
    seconds = 8 * 32 * MIB / 1e9  # of one tensor between two nodes
    work = Work(step_s=3 * seconds, shapes=(tensor, tensor), backward_from=1 / 3)
    found = predict(work, IDEAL, DDP, 2)
    assert found.exchange_s == pytest.approx(2 * seconds)
    assert found.exposed_s == pytest.approx(seconds)


def test_small_tensors_share_a_bucket_and_its_latency() -> None:
    link = Link(bit_s=1e15, lanes_latency_s=1e-3)
    many = predict(Work(step_s=1e-6, shapes=((256, 256),) * 16), link, DDP, 2)  # 4 MiB: a bucket of 1 and one of 3
    assert many.exchange_s == pytest.approx(2 * 2e-3, rel=1e-3)


@pytest.mark.parametrize("mode", ALL, ids=str)
def test_a_faster_link_never_makes_a_step_slower(mode: Mode) -> None:
    steps = [predict(GPT2, Link(bit_s), mode, 3).step_s for bit_s in (1e6, 1e7, 1e8, 1e9, 2.5e9, 1e10, 1e11, 1e12)]
    assert all(slow >= fast for slow, fast in pairwise(steps))


@pytest.mark.parametrize("mode", ALL, ids=str)
def test_an_endless_link_costs_nothing_and_a_dead_one_everything(mode: Mode) -> None:
    endless = Link(bit_s=1e18, plain_latency_s=0, lanes_latency_s=0)
    work = Work(step_s=0.18, parameters=124_000_000, device=FREE)
    assert predict(work, endless, mode, 3).efficiency == pytest.approx(1, abs=1e-6)
    assert predict(work, Link(bit_s=0), mode, 3).efficiency == 0
    assert predict(work, Link(bit_s=0), mode, 3).speedup == 0


@pytest.mark.parametrize("mode", ALL, ids=str)
def test_one_node_exchanges_nothing(mode: Mode) -> None:
    assert predict(GPT2, Link(bit_s=1e6), mode, 1).step_s == GPT2.step_s


def test_lanes_beat_one_group_and_smaller_gradients_beat_lanes_on_a_slow_link() -> None:
    steps = [predict(GPT2, Link(1e9), mode, 3).step_s for mode in (PLAIN, DDP, BF16, POWERSGD)]
    assert steps == sorted(steps, reverse=True)


def test_accumulating_k_steps_divides_what_is_exposed_by_k() -> None:
    once, eight = (predict(GPT2, Link(1e9), Mode("ddp", accumulate=k), 3) for k in (1, 8))
    assert eight.exposed_s == pytest.approx(once.exposed_s / 8)
    assert eight.exchange_s == pytest.approx(once.exchange_s / 8)


def test_local_steps_wait_only_for_what_is_late() -> None:
    # 10 MB in 2 fragments between two nodes at 1 Gbit/s: 40 ms each; 3 steps of 10 ms hide 30 of them.
    work = Work(step_s=0.01, parameters=2_500_000, device=FREE)
    late = predict(work, IDEAL, Mode("local", every=20, fragments=2, overlap=3), 2)
    assert late.exposed_s * 20 == pytest.approx(2 * 0.01)
    assert predict(work, IDEAL, Mode("local", every=20, fragments=2, overlap=4), 2).exposed_s == pytest.approx(
        0, abs=1e-9
    )
    assert predict(work, IDEAL, Mode("local", every=20, fragments=2, overlap=0), 2).exposed_s * 20 == pytest.approx(
        0.08
    )


def test_local_steps_on_a_link_that_never_catches_up_run_at_the_link_s_pace() -> None:
    work = Work(step_s=1e-4, parameters=2_500_000, device=FREE)
    found = predict(work, IDEAL, Mode("local", every=20, fragments=2, overlap=3), 2)
    assert found.step_s * 20 == pytest.approx(0.08, rel=0.05)


def test_powersgd_sends_two_thin_matrices_and_leaves_vectors_whole() -> None:
    # Rank 4 of 1000 by 1000: 4 times 2000 numbers instead of a million; 1000 more as they are.
    work = Work(step_s=0.1, shapes=((1000, 1000), (1000,)), device=FREE)
    found = predict(work, IDEAL, Mode("powersgd", rank=4), 2)
    assert found.exchange_s == pytest.approx(32 * (8000 + 1000) / 1e9)


def test_transfers_share_a_link_and_each_has_its_own_limit() -> None:
    both = [Transfer(0, 100), Transfer(0, 100), Transfer(0, 100)]
    assert finished_s(both, one_bit_s=60, all_bit_s=100, at_once=2) == pytest.approx([2, 2, 2 + 100 / 60])
    assert finished_s(both, one_bit_s=100, all_bit_s=100, at_once=1) == pytest.approx([1, 2, 3])
    assert finished_s([Transfer(1, 0, wait_s=2)], one_bit_s=1, all_bit_s=1, at_once=1) == pytest.approx([3])


def test_a_stated_step_hides_what_hooks_compute_while_it_sleeps() -> None:
    # Two tensors above a bucket's size: 50 ms of rounding for each, half of it before its exchange.
    tensor = (8 * MIB,)
    slow = Device(bf16_byte_s=32 * MIB / 0.05, powersgd_byte_s=1, copy_byte_s=1, average_byte_s=1, packed_byte_s=1)
    computing, sleeping = (
        predict(Work(0.6, shapes=(tensor, tensor), device=slow, stated=stated), Link(1e18), BF16, 2)
        for stated in (False, True)
    )
    assert computing.exposed_s - sleeping.exposed_s == pytest.approx(0.025)


def test_modes_are_predicted_with_the_options_that_they_have_by_default() -> None:
    pytest.importorskip("torch")
    from corral.train.gradients import POWERSGD_RANK
    from corral.train.local import LocalOptions

    options = LocalOptions()
    own = (LOCAL.every, LOCAL.fragments, LOCAL.overlap, LOCAL.bits)
    assert own == (options.every, options.fragments, options.overlap, options.bits)
    assert POWERSGD.rank == POWERSGD_RANK
