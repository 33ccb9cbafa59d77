"""One all-reduce over all nodes: whether every rank gets the right sum, and how long it takes.

`srun python3 -m corral.gauges.total BYTES BUDGET_S`, one process per node.
"""

from __future__ import annotations

import argparse
import time

import torch
import torch.distributed as dist

from corral import train
from corral.gauges.report import tell

_MOST_ROUNDS = 20
_NUMBERS = 1 << 10
"""Small whole numbers repeat, so that every sum of a few hundred ranks is exact in float32."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("size_bytes", type=int)
    parser.add_argument("budget_s", type=float)
    wanted = parser.parse_args()
    run = train.init()
    lanes = train.Lanes()
    numbers = torch.arange(wanted.size_bytes // 4, device=run.device).remainder(_NUMBERS).float()
    total = numbers + run.rank
    first_s = _timed(lanes, total)
    expected = run.size * numbers + run.size * (run.size - 1) / 2
    wrong = _summed(int((total != expected).sum()), run.device)
    rounds = max(1, min(_MOST_ROUNDS, int(wanted.budget_s / max(first_s, 1e-6))))
    # The slowest rank's figure decides for all, or some would wait for a round that others do not begin.
    rounds = _least(rounds, run.device)
    total.zero_()
    times = [_timed(lanes, total) for _ in range(rounds)]
    if run.rank == 0:
        tell("total", backend=run.backend, ranks=run.size, size_bytes=wanted.size_bytes, wrong=wrong, time_s=min(times))
    dist.barrier()
    dist.destroy_process_group()


def _timed(lanes: train.Lanes, tensor: torch.Tensor) -> float:
    dist.barrier()
    before = time.perf_counter()
    lanes.all_reduce(tensor).wait()
    if tensor.is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - before


def _summed(number: int, device: torch.device) -> int:
    return _agreed(number, device, dist.ReduceOp.SUM)


def _least(number: int, device: torch.device) -> int:
    return _agreed(number, device, dist.ReduceOp.MIN)


def _agreed(number: int, device: torch.device, how: object) -> int:
    shared = torch.tensor([number], device=device)
    dist.all_reduce(shared, op=how)
    return int(shared.item())


if __name__ == "__main__":
    main()
