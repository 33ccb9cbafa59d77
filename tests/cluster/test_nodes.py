"""Growing and shrinking a cluster that is at work."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from tests.cluster.lab import Lab, eventually, static_lab

from corral.providers.local import LocalMachines
from corral.spec.model import LocalSpec

FILE = """\
# Made for growing.
name: nodes-grow-{pid}
local: {{}}

machines:
  node0: {{}}   # the head
  node1: {{}}
  node2:
    features: [old]   # since 2019

users: {{alice: {{}}}}   # everybody else follows
"""
UNTIL_TOLD = "until [ -e /shared/enough ]; do date +%s; sleep 0.5; done; echo ended by itself"


@pytest.fixture
def lab(tmp_path: Path, image_cache: Path) -> Iterator[Lab]:
    file = tmp_path / "cluster.yaml"
    file.write_text(FILE.format(pid=os.getpid()))
    lab = Lab(file, tmp_path / "state", image_cache)
    with lab.while_up():
        yield lab


def submit(lab: Lab, options: str, script: str) -> str:
    job = lab.as_user("alice", f"sbatch --parsable --mem=100 {options} --wrap '{script}'").strip()
    eventually(lambda: "RUNNING" in lab.ssh("node0", f"squeue -h -j {job} -o %T"))
    return job


@pytest.mark.timeout(600)
def test_three_nodes_become_five_and_three_again_while_a_job_runs_undisturbed(lab: Lab) -> None:
    before = lab.file.read_text()
    job = submit(lab, "-w node1 -o /shared/job", UNTIL_TOLD)
    lab.corral("node", "add", "node3")
    lab.corral("node", "add", "node4")
    assert "    features: [old]   # since 2019\n  node3: {}\n  node4: {}\n\nusers:" in lab.file.read_text()
    assert len(lab.ssh("node0", "srun -N4 -x node1 hostname").split()) == 4

    refused = lab.corral("node", "remove", "node0", exit_code=2)
    assert "node0 is the head" in refused
    moved = submit(lab, "-x node0,node1,node2,node4 -o /dev/null", "sleep 900")
    drained = lab.corral("node", "drain", "node3", "--reason", "going away")
    assert f"still running there: job {moved}" in drained
    assert f"job {moved}: requeued" in lab.corral("node", "remove", "node3", "--now")
    lab.corral("node", "remove", "node4")
    assert lab.file.read_text() == before
    nodes = lab.ssh("node0", "sinfo -h -N -o '%N %T' | sort -u").splitlines()
    assert nodes == ["node0 idle", "node1 mixed", "node2 idle"]
    assert lab.ssh("node0", f"squeue -h -j {moved} -o %T").strip() == "PENDING"

    lab.ssh("node0", "touch /shared/enough")
    eventually(lambda: "COMPLETED|0" in lab.ssh("node0", f"sacct -nPX -j {job} -o state,restarts"))
    *ticks, last = lab.ssh("node0", "cat /shared/job").splitlines()
    assert last == "ended by itself"
    assert max(int(late) - int(early) for early, late in pairwise(ticks)) < 10
    assert lab.json("up")["changed"] == 0


def test_removing_waits_for_the_node_s_jobs(lab: Lab) -> None:
    job = submit(lab, "-w node2 -o /dev/null", UNTIL_TOLD)
    with lab.start("node", "remove", "node2") as removing:
        assert removing.stdout is not None
        assert any(f"node2 waits for job {job}" in line for line in removing.stdout)
        assert "node2" in lab.file.read_text()
        lab.ssh("node0", "touch /shared/enough")
        removing.communicate(timeout=120)
        assert removing.returncode == 0
    assert "COMPLETED" in lab.ssh("node0", f"sacct -nPX -j {job} -o state")
    assert "node2" not in lab.file.read_text()
    assert "node2" not in lab.ssh("node0", "sinfo -h -N -o %N")


def test_a_server_joins_by_its_address_and_leaves_with_its_data(tmp_path: Path, image_cache: Path) -> None:
    name = f"nodes-static-{os.getpid()}"
    machines = LocalMachines(tmp_path / "local", image_cache, name, LocalSpec())
    try:
        one, two = asyncio.run(machines.up(["node0", "node1"], lambda _: None))
        lab = static_lab([one], tmp_path, image_cache, name=name)
        lab.corral("up")
        before = lab.file.read_text()
        key = str(two.identity_file)
        lost = lab.corral("node", "add", "node1", "10.77.0.99", "--key", key, exit_code=1)
        assert "Nothing was changed" in lost
        assert lab.file.read_text() == before
        lab.corral("node", "add", "node1", two.address, "--key", key, "--accept-new-host-keys")
        assert sorted(lab.ssh("node0", "srun -N2 hostname").split()) == ["node0", "node1"]
        left = lab.corral("node", "remove", "node1")
        assert "Stopped and disabled node1: slurmd, node1: munge" in left
        assert lab.file.read_text() == before
        # The machine is no longer the cluster's, but it is still there.
        (tmp_path / "both").mkdir()
        both = static_lab([one, two], tmp_path / "both", image_cache, name=name)
        assert both.ssh("node1", "systemctl is-active slurmd munge", exit_code=None).split() == ["inactive"] * 2
        assert both.ssh("node1", "ls /var/log/slurm/slurmd.log /etc/munge/munge.key").count("\n") == 2
    finally:
        asyncio.run(machines.down())


def test_up_local_with_another_number_grows_and_shrinks(tmp_path: Path, image_cache: Path) -> None:
    name = f"nodes-count-{os.getpid()}"
    file = tmp_path / "state" / "clusters" / name / "cluster.yaml"
    lab = Lab(file, tmp_path / "state", image_cache, prefix=("env", "-u", "CORRAL_CLUSTER"))

    def up(count: int) -> set[str]:
        lab.corral("up", "--local", str(count), "--name", name)
        return set(lab.ssh("node0", f"srun -N{count} hostname").split())

    try:
        assert [len(up(count)) for count in (1, 3, 1)] == [1, 3, 1]
        assert lab.ssh("node0", "sinfo -h -N -o %N").split() == ["node0"]
    finally:
        lab.corral("down")
