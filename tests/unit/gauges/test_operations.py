"""Collectives are right on every size and by every way; real gloo on this machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.unit.inside.scripts import SOURCES, python_with_torch

RANKS = 3
# 5 elements go by one lane, 1,100,003 by four of uneven size. What is broken on purpose has to be counted.
PROGRAM = """
import torch, torch.distributed as dist
from corral.gauges.operations import DTYPES, OPERATIONS
from corral.train.lanes import Lanes

dist.init_process_group("gloo")
lanes = Lanes(count=4)
for name, kind in OPERATIONS.items():
    for count, dtype in ((5, "float"), (5, "bfloat16"), (1_100_003, "float")):
        for in_place in (False, True) if kind.has_in_place else (False,):
            operation = kind(lanes, count, DTYPES[dtype], torch.device("cpu"))
            operation.prepare(in_place=in_place)
            operation.run()
            assert operation.wrong() == 0, (name, count, dtype, in_place)
            operation._received[:2] += 1
            assert operation.wrong() == 2, (name, count, dtype, in_place)
dist.barrier()
"""


def test_every_collective_is_right_and_what_is_wrong_is_counted(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    launcher = [python_with_torch(), "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={RANKS}"]
    done = subprocess.run(
        [*launcher, str(tmp_path / "program.py")],
        env=os.environ | {"PYTHONPATH": str(SOURCES), "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
