"""One all-reduce over all ranks: whether everybody gets the right sum, and how long it takes."""

from __future__ import annotations

import time

import torch
import torch.distributed as dist

from corral import train
from corral.gauges.report import tell

_MOST_ROUNDS = 20
_NUMBERS = 1 << 10
"""Small whole numbers repeat, so that every sum of a few hundred ranks is exact in float32."""


def add_up(run: train.Run, size_bytes: int, budget_s: float) -> None:
    """The first sum is checked, those that follow are timed."""
    lanes = train.Lanes()
    numbers = torch.arange(size_bytes // 4, device=run.device).remainder(_NUMBERS).float()
    total = numbers + run.rank
    first_s = _timed(lanes, total)
    expected = run.size * numbers + run.size * (run.size - 1) / 2
    wrong = _agreed(int((total != expected).sum()), run.device, dist.ReduceOp.SUM)
    # One figure for all, or some would wait for a round that others do not begin.
    fitting = max(1, min(_MOST_ROUNDS, int(budget_s / max(first_s, 1e-6))))
    rounds = _agreed(fitting, run.device, dist.ReduceOp.MIN)
    total.zero_()
    best_s = min(_timed(lanes, total) for _ in range(rounds))
    if run.rank == 0:
        tell("total", backend=run.backend, ranks=run.size, size_bytes=size_bytes, wrong=wrong, time_s=best_s)
    lanes.close()


def _timed(lanes: train.Lanes, tensor: torch.Tensor) -> float:
    dist.barrier()
    before = time.perf_counter()
    lanes.all_reduce(tensor).wait()
    if tensor.is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - before


def _agreed(number: int, device: torch.device, how: object) -> int:
    shared = torch.tensor([number], device=device)
    dist.all_reduce(shared, op=how)
    return int(shared.item())
