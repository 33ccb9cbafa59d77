"""Slurm's listings as real daemons printed them (tests/recorded/listings)."""

from __future__ import annotations

from pathlib import Path

import pytest

from corral.slurm.text import parse_gres, parse_nodes, parse_partitions

RECORDED = Path(__file__).parents[2] / "recorded" / "listings"


def recorded(name: str) -> str:
    return (RECORDED / f"{name}.txt").read_text()


def test_a_node_in_two_partitions_is_one_node() -> None:
    nodes = parse_nodes(recorded("nodes"), recorded("gpus_in_use"))
    assert [node.name for node in nodes] == ["node0", "node1"]
    assert nodes[1].partitions == ("main", "long")


def test_gpus_are_counted_by_type_and_use() -> None:
    drained, busy = parse_nodes(recorded("nodes"), recorded("gpus_in_use"))
    assert (drained.gpus, drained.gpus_in_use) == ({"rtx5090": 2}, 0)
    assert (busy.gpus, busy.gpus_in_use, busy.cpus_in_use) == ({"a100": 2}, 1, 1)


def test_a_drained_node_is_not_healthy_and_says_why() -> None:
    drained, busy = parse_nodes(recorded("nodes"), recorded("gpus_in_use"))
    assert not drained.healthy
    assert drained.reason == "bad fan, see ticket 7"
    assert busy.healthy
    assert busy.reason == ""


def test_the_default_partition_is_told_from_the_others() -> None:
    partitions = parse_partitions(recorded("partitions"))
    assert [(partition.name, partition.default, partition.nodes) for partition in partitions] == [
        ("main", True, 2),
        ("long", False, 1),
    ]


def test_an_empty_cluster_has_empty_lists() -> None:
    assert (parse_nodes("", ""), parse_partitions("")) == ([], [])


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("gpu:1", {"": 1}),
        ("gpu:rtx5090:1(S:0)", {"rtx5090": 1}),
        ("gpu:h100:8(S:0-1),gpu:a100:2", {"h100": 8, "a100": 2}),
        ("gpu:a100_3g.40gb:4", {"a100_3g.40gb": 4}),
        ("(null)", {}),
        ("gres/gpu:rtx5090:2", {"rtx5090": 2}),
    ],
)
def test_every_spelling_of_gres_is_understood(text: str, gpus: dict[str, int]) -> None:
    assert parse_gres(text) == gpus
