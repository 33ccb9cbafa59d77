"""A link's numbers are found again from the all-reduces that it would give."""

from __future__ import annotations

import pytest

from corral.advice.links import fitted_link
from corral.inside.cost import Link, all_reduce_s

LINK = Link(2.2e9, plain_share=0.45, lanes_share=0.95, plain_latency_s=2e-4, lanes_latency_s=5e-4)
SIZES = (1 << 10, 1 << 18, 1 << 20, 1 << 22, 1 << 24)


def test_shares_and_latencies_are_found_again() -> None:
    plain = [(size, all_reduce_s(size, LINK, 3, lanes=False)) for size in SIZES]
    lanes = [(size, all_reduce_s(size, LINK, 3)) for size in SIZES]
    found = fitted_link(LINK.bit_s, 3, plain, lanes)
    assert found.plain_share == pytest.approx(LINK.plain_share)
    assert found.lanes_share == pytest.approx(LINK.lanes_share)
    assert found.plain_latency_s == pytest.approx(LINK.plain_latency_s)
    assert found.lanes_latency_s == pytest.approx(LINK.lanes_latency_s)


def test_one_size_alone_gives_a_rate_and_no_latency() -> None:
    found = fitted_link(1e9, 2, [(1 << 20, 0.01)], [(1 << 20, 0.01)])
    assert found.lanes_latency_s == 0
    assert all_reduce_s(1 << 20, found, 2) == pytest.approx(0.01)


def test_small_ones_that_a_burst_lets_through_do_not_make_the_latency_negative() -> None:
    timed = [(1 << 18, 1e-4), (1 << 20, 0.01), (1 << 22, 0.04)]
    assert fitted_link(1e9, 2, timed, timed).plain_latency_s == 0
