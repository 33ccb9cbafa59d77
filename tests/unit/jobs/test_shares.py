"""What a job gets when it does not say."""

from __future__ import annotations

import pytest

from corral.errors import InputError
from corral.jobs.request import Gpus, Resources
from corral.jobs.shares import with_defaults
from corral.slurm.text import NodeState, PartitionState

MAIN = PartitionState("main", "up", "infinite", 3, default=True)
LONG = PartitionState("long", "up", "infinite", 1, default=False)


def node(name: str, cpus: int, memory_mib: int, partitions: tuple[str, ...] = ("main",), **gpus: int) -> NodeState:
    kinds = {kind if kind != "untyped" else "": count for kind, count in gpus.items()}
    return NodeState(name, "idle", cpus, 0, memory_mib, kinds, 0, "", "", partitions)


UNEVEN = [node("a", 16, 64_000, untyped=2), node("b", 6, 96_000, untyped=1), node("c", 8, 1_000)]


def share(wanted: Resources, nodes: list[NodeState]) -> tuple[int | None, int | None]:
    found = with_defaults(wanted, nodes, [MAIN, LONG])
    return found.cpus, found.memory_mib


def test_a_job_that_says_nothing_gets_one_gpu_and_a_share_that_fits_every_node_with_one() -> None:
    found = with_defaults(Resources(), UNEVEN, [MAIN, LONG])
    assert found == Resources(gpus=Gpus(1), cpus=6, memory_mib=32_000)


def test_two_gpus_get_twice_the_share_of_the_nodes_that_have_two() -> None:
    assert share(Resources(gpus=Gpus(2)), UNEVEN) == (16, 64_000)


def test_what_is_asked_for_is_left_as_it_is() -> None:
    wanted = Resources(gpus=Gpus(1), cpus=3, memory_mib=500, time_limit_min=5, qos="scavenger")
    assert with_defaults(wanted, UNEVEN, [MAIN]) == wanted


def test_a_type_counts_only_nodes_that_have_it_but_shares_with_all_gpus_of_the_node() -> None:
    mixed = [node("a", 32, 64_000, h100=2, a100=2), node("b", 4, 8_000, a100=1)]
    assert share(Resources(gpus=Gpus(1, "h100")), mixed) == (8, 16_000)
    assert share(Resources(gpus=Gpus(1, "a100")), mixed) == (4, 8_000)


def test_without_gpus_a_job_gets_one_cpu_and_the_clusters_own_memory() -> None:
    for wanted, nodes in ((Resources(), [node("c", 8, 1_000)]), (Resources(gpus=Gpus(0)), UNEVEN)):
        assert with_defaults(wanted, nodes, [MAIN]) == Resources(gpus=Gpus(0), cpus=1, memory_mib=None)


def test_more_gpus_than_cpus_still_leave_one_cpu() -> None:
    assert share(Resources(), [node("a", 2, 8_000, untyped=8)]) == (1, 1_000)


def test_only_the_nodes_of_the_partition_count_which_is_the_default_one_unless_named() -> None:
    nodes = [node("a", 16, 64_000, untyped=1), node("b", 4, 8_000, ("long",), untyped=1)]
    assert share(Resources(), nodes) == (16, 64_000)
    assert share(Resources(partition="long"), nodes) == (4, 8_000)
    assert share(Resources(partition="main,long"), nodes) == (4, 8_000)


def test_without_a_default_partition_all_of_them_count() -> None:
    some = PartitionState("main", "up", "infinite", 1, default=False)
    found = with_defaults(Resources(nodes=2), [node("a", 4, 8_000), node("b", 4, 8_000, ("long",))], [some, LONG])
    assert found.nodes == 2


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (Resources(partition="mian"), "there is no partition 'mian'; there are: main, long"),
        (Resources(gpus=Gpus(1, "h200")), "no node has GPUs of type 'h200'; there are: a100, h100"),
        (Resources(gpus=Gpus(3, "h100")), "of 3 nodes 0 have as many, and the most GPUs that one has is 2"),
        (Resources(gpus=Gpus(9)), "1 node with 9 GPUs each"),
        (Resources(nodes=3), "3 nodes with a GPU each were asked for; of 3 nodes 2 have"),
        (Resources(nodes=4, gpus=Gpus(0)), "4 nodes were asked for, and there are 3"),
    ],
)
def test_what_no_node_has_is_refused_with_what_there_is(wanted: Resources, message: str) -> None:
    nodes = [node("a", 32, 64_000, h100=2), node("b", 4, 8_000, a100=1), node("c", 4, 8_000)]
    with pytest.raises(InputError) as refused:
        with_defaults(wanted, nodes, [MAIN, LONG])
    assert message in str(refused.value)
