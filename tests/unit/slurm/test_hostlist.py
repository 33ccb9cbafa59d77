"""Names of nodes, however short Slurm writes them."""

from __future__ import annotations

import pytest

from corral.slurm.hostlist import expand_hosts


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("node1", ["node1"]),
        ("node[0-2]", ["node0", "node1", "node2"]),
        ("gpu[08-10,12],login", ["gpu08", "gpu09", "gpu10", "gpu12", "login"]),
        ("rack[1-2]-a", ["rack1-a", "rack2-a"]),
        ("", []),
        ("(null)", []),
        ("None assigned", []),
    ],
)
def test_a_short_form_becomes_all_names_in_order(text: str, names: list[str]) -> None:
    assert list(expand_hosts(text)) == names
