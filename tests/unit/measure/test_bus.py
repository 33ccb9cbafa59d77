"""The formulas of nccl-tests (doc/PERFORMANCE.md there), and sizes as people write them."""

from __future__ import annotations

import pytest

from corral.errors import InputError
from corral.measure.bus import algorithm_bit_s, bus_factor
from corral.measure.words import decimals, gbit_s, parse_size, significant, size_text


@pytest.mark.parametrize(
    ("collective", "ranks", "factor"),
    [
        ("allreduce", 2, 1.0),
        ("allreduce", 4, 1.5),
        ("allgather", 4, 0.75),
        ("reducescatter", 2, 0.5),
        ("sendrecv", 8, 1.0),
        ("allreduce", 1, 0.0),
    ],
)
def test_the_bus_carries_what_the_collective_has_to_move(collective: str, ranks: int, factor: float) -> None:
    assert bus_factor(collective, ranks) == pytest.approx(factor)


def test_algorithm_bandwidth_is_size_over_time() -> None:
    assert algorithm_bit_s(1_000_000, 0.008) == pytest.approx(1e9)


@pytest.mark.parametrize(
    ("text", "size"), [("8", 8), ("64K", 65536), ("64M", 64 << 20), ("1.5G", 3 << 29), ("2MiB", 2 << 20), ("4kb", 4096)]
)
def test_sizes_are_written_as_in_nccl_tests(text: str, size: int) -> None:
    assert parse_size(text, "-b") == size


@pytest.mark.parametrize("text", ["", "0", "-8", "64T", "8 apples", "1e6"])
def test_what_is_no_size_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match=f"-b {text}: write a size such as 8, 64K, 64M or 1G"):
        parse_size(text, "-b")


def test_sizes_and_rates_are_said_with_their_units() -> None:
    assert [size_text(size) for size in (8, 65536, 3 << 19, 1 << 30)] == ["8 B", "64 KiB", "1.5 MiB", "1 GiB"]
    assert [gbit_s(rate) for rate in (2.11e9, 93.2e6)] == ["2.11 Gbit/s", "93.2 Mbit/s"]


def test_numbers_have_three_digits_that_matter() -> None:
    assert [significant(value) for value in (0.0, 0.0116, 0.2641, 2.345, 23.45, 1234.5)] == [
        *("0.000", "0.0116", "0.264", "2.35", "23.4", "1234")
    ]
    assert [decimals([0.0001, largest]) for largest in (0.0116, 0.264, 2.3, 45.0)] == [4, 3, 2, 2]
