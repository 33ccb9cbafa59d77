"""Axes end at and are marked with numbers that people like."""

from __future__ import annotations

import pytest

from corral.plots.scale import axis, named_axis, tick_name


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([0, 10], ("0", "2", "4", "6", "8", "10")),
        ([0.13, 0.94], ("0", "0.2", "0.4", "0.6", "0.8", "1")),
        ([-3, 4], ("-4", "-2", "0", "2", "4")),
        ([0, 480_000], ("0", "100k", "200k", "300k", "400k", "500k")),
        ([1.0001, 1.0003], ("1.0001", "1.00015", "1.0002", "1.00025", "1.0003")),
        ([2e-7, 9e-7], ("2e-7", "4e-7", "6e-7", "8e-7", "1e-6")),
        ([3, 3], ("1", "2", "3", "4", "5")),
        ([0, 0], ("-0.6", "-0.4", "-0.2", "0", "0.2", "0.4", "0.6")),
        ([], ("0", "0.2", "0.4", "0.6", "0.8", "1")),
    ],
)
def test_a_linear_axis_has_round_ticks_that_enclose_the_values(values: list[float], names: tuple[str, ...]) -> None:
    assert axis(values).names == names


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([1e-5, 1e-1], ("1e-5", "1e-4", "0.001", "0.01", "0.1")),
        ([0.3, 4], ("0.5", "1", "2")),
        ([1024, 2**30], ("1000", "10k", "100k", "1M", "10M", "100M", "1G")),
        ([5, 5], ("5", "10")),
        ([5.2, 8.1], ("6", "7", "8")),
    ],
)
def test_a_logarithmic_axis_is_marked_at_powers_of_ten_or_between(values: list[float], names: tuple[str, ...]) -> None:
    assert axis(values, log=True).names == names


def test_places_run_from_0_to_1() -> None:
    assert axis([0, 10]).place(2.5) == pytest.approx(0.25)
    scale = axis([1, 100], log=True)
    assert scale.place(10) == pytest.approx(0.5)
    assert 0 < scale.place(1) < scale.place(100) < 1
    assert named_axis(["a", "b"]).place(0) == pytest.approx(0.25)


def test_an_axis_of_bars_begins_at_zero() -> None:
    assert axis([5, 9], zero=True).low == 0
    assert axis([-5, -9], zero=True).high == 0


@pytest.mark.parametrize(
    ("value", "step", "name"),
    [
        (0.30000000000000004, 0.1, "0.3"),
        (9999, 1000, "9999"),
        (12_000, 1000, "12k"),
        (2.5e6, 5e5, "2.5M"),
        (1e-17, 1, "0"),
    ],
)
def test_ticks_are_named_without_noise(value: float, step: float, name: str) -> None:
    assert tick_name(value, step) == name
