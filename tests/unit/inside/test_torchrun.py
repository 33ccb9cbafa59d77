"""One node's part of a distributed job: what torchrun is told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.inside.scripts import SOURCES

from corral.inside import interface, torchrun

STEP = {"SLURM_NNODES": "3", "SLURM_NODEID": "2", "MASTER_ADDR": "10.77.0.10", "MASTER_PORT": "31234"}


def test_torchrun_is_told_the_place_of_this_node_and_starts_ranks_by_our_shim() -> None:
    assert torchrun.arguments(STEP, 4) == [
        "--nnodes=3",
        "--node-rank=2",
        "--nproc-per-node=4",
        "--master-addr=10.77.0.10",
        "--master-port=31234",
        "--no-python",
        "--",
        *(sys.executable, "-m", "corral.inside.rank"),
    ]


@pytest.mark.parametrize(
    ("visible", "ranks"), [(None, 1), ("", 1), ("NoDevFiles", 1), ("0", 1), ("0,1,5", 3), ("GPU-8ab,MIG-1/2", 2)]
)
def test_there_is_one_rank_for_each_gpu_of_the_step(visible: str | None, ranks: int) -> None:
    assert torchrun.ranks_here({} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}) == ranks


def test_ranks_share_the_cores_unless_the_user_has_chosen() -> None:
    cores = len(os.sched_getaffinity(0))
    assert torchrun.threads({}, 1) == {"OMP_NUM_THREADS": str(cores)}
    assert torchrun.threads({}, 10_000) == {"OMP_NUM_THREADS": "1"}
    assert torchrun.threads({"OMP_NUM_THREADS": "7"}, 1) == {}


def addresses() -> dict[str, str]:
    """Addresses of this machine as the system's own tool lists them, with their interfaces."""
    listed = json.loads(subprocess.run(["ip", "-j", "addr"], capture_output=True, check=True).stdout)
    return {held["local"]: link["ifname"] for link in listed for held in link["addr_info"]}


def test_every_interface_is_known_by_its_address() -> None:
    found = {address: name for name, address in interface.interfaces()}
    assert found["127.0.0.1"] == "lo"
    assert found == addresses()


def test_ranks_talk_over_the_interface_that_has_the_nodes_own_address() -> None:
    for address, name in addresses().items():
        expected = None if name == "lo" else name
        assert interface.towards_cluster(address, "") == expected
        # A node whose name leads nowhere: the way to the first node, which here is this machine.
        if ":" not in address:
            assert interface.towards_cluster("no-such-node.invalid", address) == expected


def test_the_users_own_choice_of_interface_stands() -> None:
    chosen = {"NCCL_SOCKET_IFNAME": "ib0", "GLOO_SOCKET_IFNAME": "ib0", "MASTER_ADDR": "127.0.0.1"}
    assert torchrun.network(chosen) == {}


def test_an_environment_without_torch_is_told_in_one_line(tmp_path: Path) -> None:
    bare = "import sys; sys.path.append(sys.argv[1])\nfrom corral.inside.torchrun import main; sys.exit(main([]))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", bare, str(SOURCES)],
        env={"PATH": str(tmp_path), "CORRAL_JOB_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n")) == (127, 1)
    assert "has no PyTorch" in done.stderr
