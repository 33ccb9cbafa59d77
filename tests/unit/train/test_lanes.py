"""Collectives by lanes are right, whatever the size; real gloo on this machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.unit.inside.scripts import SOURCES, python_with_torch

RANKS = 3
# 5 elements go by one lane, 100,003 by four of uneven size.
PROGRAM = """
import torch, torch.distributed as dist
from corral.train.lanes import Lanes

dist.init_process_group("gloo")
size, rank = dist.get_world_size(), dist.get_rank()
lanes = Lanes(4)
ranks = torch.arange(size).float()
for count in (5, 100_003):
    own = torch.full((count,), float(rank))

    reduced = own.clone()
    lanes.all_reduce(reduced).wait()
    assert (reduced == ranks.sum()).all(), "all_reduce"

    reduced = own.clone()
    lanes.all_reduce(reduced).future().wait()
    assert (reduced == ranks.sum()).all(), "all_reduce by its future"

    gathered = torch.zeros(size * count)
    lanes.all_gather(gathered, own).wait()
    assert (gathered.view(size, count) == ranks[:, None]).all(), "all_gather"

    part = torch.zeros(count)
    lanes.reduce_scatter(part, (ranks[:, None] + rank).expand(size, count).reshape(-1)).wait()
    assert (part == size * rank + ranks.sum()).all(), "reduce_scatter"

    received = torch.zeros(count)
    lanes.send_receive(received, own, (rank + 1) % size, (rank - 1) % size).wait()
    assert (received == (rank - 1) % size).all(), "send_receive"

pair = Lanes(2, ranks=[0, 2])
if rank in (0, 2):
    ours = torch.full((100_003,), float(rank))
    pair.all_reduce(ours).wait()
    assert (ours == 2).all(), "all_reduce of two among three"
dist.barrier()
"""


def test_every_collective_is_right_on_small_and_on_large_tensors(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [
            *(python_with_torch(), "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={RANKS}"),
            str(tmp_path / "program.py"),
        ],
        env=os.environ | {"PYTHONPATH": str(SOURCES), "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
