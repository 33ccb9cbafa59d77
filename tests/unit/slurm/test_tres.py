"""Resources and durations as Slurm writes them."""

from __future__ import annotations

import pytest

from corral.slurm.durations import parse_duration_s
from corral.slurm.tres import Tres, parse_memory_mib, parse_tres


@pytest.mark.parametrize(
    ("text", "tres"),
    [
        ("cpu=2,mem=7424M,node=1,billing=2,gres/gpu=1", Tres(2, 7424, 1, 1)),
        ("billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=1.50G,node=2", Tres(8, 1536, 2, 2, "a100")),
        ("cpu=1,gres/gpu:a100=2", Tres(1, 0, 0, 2, "a100")),
        ("(null)", Tres()),
        ("", Tres()),
    ],
)
def test_resources_are_read_whatever_their_order(text: str, tres: Tres) -> None:
    assert parse_tres(text) == tres


def test_memory_has_a_unit_or_is_mebibytes() -> None:
    assert [parse_memory_mib(text) for text in ("60580K", "64", "4Gn", "2T", "")] == [59, 64, 4096, 2097152, 0]


def test_a_duration_is_seconds_and_no_limit_is_none() -> None:
    assert [parse_duration_s(text) for text in ("1:00", "2:00:00", "1-00:00:10", "00:10:00")] == [60, 7200, 86410, 600]
    assert [parse_duration_s(text) for text in ("UNLIMITED", "Partition_Limit", "N/A", "")] == [None] * 4
