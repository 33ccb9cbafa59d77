"""An NFS server that Corral knows nothing of, and that gives root no power. It needs the machines for a cluster of its
own, so the one that was there is purged first; this is therefore the last file of its tier.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.cluster.lab import Lab, eventually, static_lab
from tests.vm.vms import Machines, works

pytestmark = pytest.mark.timeout(2400)

_UP_TIMEOUT_S = 900
_BACK_S = 400
_FOLDER = "/srv/outside"
# What its owner does by hand, as for any NFS server; the folders in it are what docs/cluster-file.md asks for.
_SERVE = f"""
mkdir -p -m 755 /etc/exports.d {_FOLDER}/home && mkdir -p -m 1777 {_FOLDER}/jobs && echo outside > {_FOLDER}/.corral
echo '{_FOLDER} 10.78.0.0/24(rw,root_squash,no_subtree_check)' > /etc/exports.d/outside.exports
systemctl start nfs-server && exportfs -ra
"""


@pytest.fixture(scope="module")
def purged(machines: Machines, lab: Lab) -> Any:
    """The report of the end of the cluster that node1 served."""
    machines["node1"].ssh("echo precious > /srv/shared/kept")
    return lab.json("down", "--purge", "--yes", timeout_s=_UP_TIMEOUT_S)


@pytest.fixture(scope="module")
def outside(strangers: Machines, purged: Any, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A cluster file of the same machines, with the folder that node2 serves. Nothing is deployed yet."""
    assert sorted(purged["purged"]) == ["node0", "node1"]
    strangers["node2"].ssh(_SERVE, timeout_s=200)
    folder = tmp_path_factory.mktemp("outside")
    return static_lab(
        [strangers[name].machine for name in ("node0", "node1")],
        folder,
        folder,
        name="outside",
        storage={"shared": {"nfs": f"10.78.0.12:{_FOLDER}", "mount": "/outside"}},
        users={"bob": {}},
    )


def test_a_purge_ends_serving_and_mounting_and_leaves_the_data(strangers: Machines, purged: Any) -> None:
    client, server = strangers["node0"], strangers["node1"]
    assert "node1: the NFS server, without the shared folder" in purged["kept"]
    assert server.ssh("exportfs") == ""
    for machine in (client, server):
        machine.ssh("! mountpoint -q /shared && [ ! -e /etc/systemd/system/shared.mount ]")
    assert server.ssh("cat /srv/shared/kept; ls /srv/shared/home") == "precious\nalice\n"


def test_up_says_which_home_the_server_must_have_and_then_jobs_everywhere_share_it(
    strangers: Machines, outside: Lab
) -> None:
    client, server = strangers["node0"], strangers["node2"]
    said = outside.corral("up", exit_code=1, timeout_s=_UP_TIMEOUT_S)
    owner = re.search(r"/outside/home/bob cannot be made here. Try: make it on the server, owned by (\d+:\d+)", said)
    assert owner, said
    server.ssh(f"mkdir -m 700 {_FOLDER}/home/bob && chown {owner[1]} {_FOLDER}/home/bob")
    assert outside.json("up", timeout_s=_UP_TIMEOUT_S)["ok"]

    for machine in (client, strangers["node1"]):
        options = machine.ssh("findmnt -no FSTYPE,SOURCE,OPTIONS /outside").split()
        assert options[:2] == ["nfs4", f"10.78.0.12:{_FOLDER}"]
        assert "vers=4.2" in options[2]
    client.run_as("bob", "cd && srun -N2 sh -c 'hostname > ~/by-$(hostname)'")
    read = client.run_as("bob", "cd && pwd && srun -N2 sh -c 'cat ~/by-node0 ~/by-node1'").split()
    assert read == ["/outside/home/bob", "node0", "node1", "node0", "node1"]
    assert server.ssh(f"stat -c %u:%g {_FOLDER}/home/bob/by-node1").strip() == owner[1]
    assert "Permission denied" in client.ssh("cat /outside/home/bob/by-node1", check=False)


def test_status_names_every_machine_whose_folder_does_not_answer(strangers: Machines, outside: Lab) -> None:
    server = strangers["node2"]
    server.ssh("systemctl stop nfs-server")
    try:
        problems = outside.json("status", exit_code=1)["problems"]
        assert [line for line in problems if "/outside" in line] == [
            f"{name}: /outside does not answer. Try: corral doctor {name}" for name in ("node0", "node1")
        ]
    finally:
        server.ssh("systemctl start nfs-server")
    eventually(lambda: works(strangers, "bob"), within_s=_BACK_S, every_s=3)
