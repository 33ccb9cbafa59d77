"""What `corral down` says in the end."""

from __future__ import annotations

import pytest

from corral.cli.down import show
from corral.spec.load import parse_cluster
from corral.workflows.down import DownReport

SPEC = parse_cluster(
    "name: lab\nmachines: {node0: {address: 192.0.2.10}, node1: {address: 192.0.2.11}}\n", "cluster.yaml"
)


def test_who_serves_and_mounts_the_shared_folder_is_told_with_the_way_to_be_rid_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = ("node0: still serves /srv/data", "node1: still mounts 192.0.2.10:/srv/data on /shared")
    show(SPEC, DownReport("lab", ("node0: munge",), ("/etc/slurm",), {}, shared=lines))
    said = capsys.readouterr().out.splitlines()
    assert [line.strip() for line in said[-3:-1]] == list(lines)
    assert "corral down --purge" in said[-1]
    show(SPEC, DownReport("lab", ("node0: munge",), ("/etc/slurm",), {}))
    assert "--purge" not in capsys.readouterr().out
