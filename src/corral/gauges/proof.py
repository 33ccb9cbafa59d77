"""That nodes can train together: an all-reduce, then a small training, in one job, because torch takes long to load.

`srun python3 -m corral.gauges.proof BYTES BUDGET_S STEPS`, one process per node.
"""

from __future__ import annotations

import argparse

import torch.distributed as dist

from corral import train
from corral.gauges.converge import learn
from corral.gauges.total import add_up


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("size_bytes", type=int)
    parser.add_argument("budget_s", type=float)
    parser.add_argument("steps", type=int)
    wanted = parser.parse_args()
    run = train.init()
    add_up(run, wanted.size_bytes, wanted.budget_s)
    learn(run, wanted.steps)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
