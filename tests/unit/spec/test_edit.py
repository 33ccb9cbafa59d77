"""A machine more or less in a cluster file: the rest of the text stays as it is."""

from __future__ import annotations

import pytest

from corral.errors import InputError
from corral.spec.dump import dump_cluster
from corral.spec.edit import with_machine, without_machine
from corral.spec.local import local_cluster

BLOCK = """\
# Our three workstations.
name: lab
machines:
  node0: {address: 192.0.2.10}   # under the desk
  node1:
    address: 192.0.2.11
    # its fan is loud
    features: [loud]

  # by the window
  node2: {address: 192.0.2.12}

# Everybody may use all of it.
partitions:
  main: {}
"""
FLOW = """\
name: lab
machines: {node0: {address: a}, node1: {address: b}, node2: {address: c}}  # three
users: {alice: {}}
"""
SPREAD = """\
name: lab
machines: {
  node0: {address: a},
  node1: {address: b},  # second
}
"""


def add(text: str, name: str = "node3", **keys: str | int) -> str:
    return with_machine(text, "cluster.yaml", name, keys or {"address": "192.0.2.13"})


def remove(text: str, name: str) -> str:
    return without_machine(text, "cluster.yaml", name)


def test_a_machine_is_added_below_the_last_one_and_everything_else_stays() -> None:
    last = "  node2: {address: 192.0.2.12}\n"
    assert add(BLOCK) == BLOCK.replace(last, f"{last}  node3: {{address: 192.0.2.13}}\n")


def test_a_machine_is_added_inside_braces() -> None:
    assert "node2: {address: c}, node3: {address: 192.0.2.13}}  # three" in add(FLOW)
    assert "  node1: {address: b}, node3: {address: 192.0.2.13},  # second\n}" in add(SPREAD)


def test_user_port_and_key_are_written_too() -> None:
    new = add(BLOCK, address="192.0.2.13", user="ubuntu", port=2222, key="~/.ssh/lab")
    assert "  node3: {address: 192.0.2.13, user: ubuntu, port: 2222, key: ~/.ssh/lab}\n" in new


def test_a_machine_of_a_local_cluster_needs_nothing_but_a_name() -> None:
    kept = dump_cluster(local_cluster("local", 3, {}))
    assert with_machine(kept, "cluster.yaml", "node3", {}).count("node3: {}\n") == 1


def test_a_file_without_a_last_line_end_gets_one() -> None:
    new = with_machine("name: lab\nlocal: {}\nmachines:\n  node0:", "cluster.yaml", "node3", {})
    assert new.endswith("  node0:\n  node3: {}\n")


def test_line_ends_stay_those_of_the_file() -> None:
    new = add(BLOCK.replace("\n", "\r\n"))
    assert new.count("\n") == new.count("\r\n")


@pytest.mark.parametrize("text", [BLOCK, FLOW, SPREAD], ids=["block", "flow", "spread"])
def test_adding_and_removing_gives_the_file_back(text: str) -> None:
    assert remove(add(text), "node3") == text


def test_a_machine_with_lines_of_its_own_goes_with_them_and_its_neighbours_comments_stay() -> None:
    new = remove(BLOCK, "node1")
    assert "loud" not in new
    assert "# under the desk\n\n  # by the window\n  node2" in new


def test_any_machine_can_be_taken_out_of_braces() -> None:
    assert "{node1: {address: b}, node2: {address: c}}" in remove(FLOW, "node0")
    assert "{node0: {address: a}, node2: {address: c}}" in remove(FLOW, "node1")
    assert "{node0: {address: a}, node1: {address: b}}" in remove(FLOW, "node2")


def test_what_would_break_the_file_is_refused_with_the_line_to_write() -> None:
    with pytest.raises(InputError, match=r"192\.0\.2\.12") as refusal:
        add(BLOCK, address="192.0.2.12")
    assert "node3: {address: 192.0.2.12}" in str(refusal.value)
    assert "left as it is" in str(refusal.value)


def test_a_machine_that_a_partition_names_is_not_taken_out_behind_its_back() -> None:
    text = f"{BLOCK}  big: {{machines: [node0, node2]}}\n"
    with pytest.raises(InputError, match="node2") as refusal:
        remove(text, "node2")
    assert "by hand" in str(refusal.value)


def test_a_layout_that_allows_no_safe_edit_is_refused() -> None:
    with pytest.raises(InputError, match="left as it is"):
        add("name: lab\nmachines:\n  ? node0\n  : {address: a}\nslurm: {conf: {A: b}}\n")
    with pytest.raises(InputError, match="left as it is"):
        remove(
            f"{BLOCK}users: {{alice: {{}}}}\n".replace("[loud]", "&all [loud]").replace(
                "2.12}", "2.12, features: *all}"
            ),
            "node1",
        )


def test_a_bad_name_is_an_error_in_the_file_s_own_words() -> None:
    with pytest.raises(InputError, match="lower-case letters"):
        add(BLOCK, name="Node_3")
