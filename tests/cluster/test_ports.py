"""Every listening socket of every machine, against the table in docs/ports.md: no more, no less."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.lab import Lab, make_lab

TABLE = Path(__file__).parents[2] / "docs" / "ports.md"
ROW = re.compile(r"^\| (\d+) \| (tcp|udp) \| (\w+) \| (head|compute|all) \| (cluster|any) \|", re.MULTILINE)
Socket = tuple[str, str, int, str]
"""Protocol, address, port, program."""


@pytest.fixture(scope="module", params=["trixie", "bookworm", "forky"])
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, image_cache: Path) -> Iterator[Lab]:
    """A head that also computes, and a node that only computes."""
    lab = make_lab(
        tmp_path_factory.mktemp(request.param),
        image_cache,
        machines=2,
        name=f"ports-{request.param}-{os.getpid()}",
        local={"release": request.param},
    )
    with lab.while_up():
        yield lab


def documented(roles: frozenset[str], address: str) -> set[Socket]:
    """What the table says of a machine."""
    return {
        (protocol, listens, int(port), program)
        for port, protocol, program, on, where in ROW.findall(TABLE.read_text())
        if on == "all" or on in roles
        for listens in ([address] if where == "cluster" else ["0.0.0.0", "[::]"])
    }


def listening(lab: Lab, node: str) -> set[Socket]:
    """What the machine's kernel says."""
    found = set()
    for line in lab.ssh(node, "ss -Hltunp").splitlines():
        protocol, _state, _received, _sent, local, _peer, process = line.split(None, 6)
        address, _, port = local.rpartition(":")
        found.add((protocol, address, int(port), process.split('"')[1]))
    return found


def test_every_machine_listens_exactly_where_the_documentation_says(lab: Lab) -> None:
    assert len(ROW.findall(TABLE.read_text())) >= 5
    for machine in lab.machines.machines():
        wanted = documented(lab.spec.roles(machine.name), machine.address)
        assert listening(lab, machine.name) == wanted, machine.name


def test_what_a_job_opens_is_on_the_clusters_address_too(lab: Lab) -> None:
    idle = len(documented(lab.spec.roles("node0"), "10.77.0.10"))
    opened = f'until ss=$(ss -Hltn) && [ $(echo "$ss" | wc -l) -gt {idle} ]; do sleep 0.1; done; echo "$ss"'
    said = lab.ssh("node0", f"srun -N2 sleep 3 & {opened}; wait")
    sockets = [line.split()[3] for line in said.splitlines()]
    assert {socket for socket in sockets if not socket.startswith("10.77.0.10:")} == {"0.0.0.0:22", "[::]:22"}
