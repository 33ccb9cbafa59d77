"""What people write after --gpus, --mem and --time."""

from __future__ import annotations

import pytest

from corral.errors import InputError
from corral.jobs.request import Gpus, Resources, parse_gpus, parse_memory, parse_time


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("0", Gpus(0)),
        ("1", Gpus(1)),
        (" 12 ", Gpus(12)),
        ("rtx5090", Gpus(1, "rtx5090")),
        ("rtx5090:2", Gpus(2, "rtx5090")),
        ("a100_3g.40gb:4", Gpus(4, "a100_3g.40gb")),
        ("h100-nvl:1", Gpus(1, "h100-nvl")),
    ],
)
def test_gpus_are_a_number_a_type_or_both(text: str, gpus: Gpus) -> None:
    assert parse_gpus(text) == gpus


@pytest.mark.parametrize(
    "text", ["", " ", "-1", "1.5", "2:rtx5090", "rtx5090:two", "rtx5090:-1", "rtx5090:", "a b", ":"]
)
def test_other_gpus_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match=r"--gpus .*such as 1, rtx5090 or rtx5090:2"):
        parse_gpus(text)


@pytest.mark.parametrize(
    ("text", "mib"),
    [
        ("800", 800),
        ("800M", 800),
        ("16G", 16 * 1024),
        ("16g", 16 * 1024),
        ("16 GiB", 16 * 1024),
        ("16GB", 16 * 1024),
        ("1.5T", 1.5 * 1024**2),
        ("4096k", 4),
        ("1K", 1),
    ],
)
def test_memory_has_a_unit_and_without_one_means_mebibytes(text: str, mib: float) -> None:
    assert parse_memory(text) == mib


@pytest.mark.parametrize("text", ["", "0", "0G", "-1G", "G", "16X", "16 16", "1e3", "16B", "16GG", "half"])
def test_other_memory_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match=r"--mem .*such as 16G or 800M"):
        parse_memory(text)


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("90", 90),
        ("30m", 30),
        ("2h", 120),
        ("1d12h", 36 * 60),
        ("1d", 1440),
        ("1h30m", 90),
        ("45s", 1),
        ("60s", 1),
        ("61s", 2),
        ("2:30:00", 150),
        ("0:00:01", 1),
        ("1-12:00:00", 36 * 60),
    ],
)
def test_time_is_counted_in_minutes_and_never_less_than_asked_for(text: str, minutes: int) -> None:
    assert parse_time(text) == minutes


@pytest.mark.parametrize("text", ["soon", "-5", "1.5h", "2:30", "1-12", "1h 30m", "h", "30m2h", "²"])
def test_other_times_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match=r"--time .*such as 30m, 2h, 1d12h"):
        parse_time(text)


@pytest.mark.parametrize("text", ["0", "0s", "0d0h", "0:00:00", ""])
def test_no_time_at_all_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="more time than none"):
        parse_time(text)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (lambda: Resources(nodes=0), "nodes"),
        (lambda: Resources(gpus=Gpus(-1)), "GPUs"),
        (lambda: Resources(cpus=0), "CPUs"),
    ],
)
def test_counts_that_no_job_can_have_are_refused(wanted: object, message: str) -> None:
    assert callable(wanted)
    with pytest.raises(InputError, match=message):
        wanted()
