"""Run as three ranks: everything that needs them, in one go because starting them takes longest."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from tests.unit.train import small

from corral import train
from corral.train.exchange import Exchange, Rest


def main(folder: Path) -> None:
    run = train.init()
    lanes = train.Lanes()
    found = {
        "lanes": _lanes_sum_as_one_group_does(run, lanes),
        "agree": [lanes.agree([torch.ones(5)]), lanes.agree([torch.ones(5), torch.full((2,), float(run.rank))])],
        "begins alike": _begins_alike(run),
        "unattended": _goes_on_while_nobody_waits(lanes),
        "packed": {bits: _packed(run, lanes, bits) for bits in (8, 4)},
        "far from diloco": _distance_from_diloco(run),
        "exact": {mode: _continues_exactly(run, options, folder / mode) for mode, options in small.MODES.items()},
    }
    lanes.close()
    sys.stdout.write(json.dumps(found))


def _lanes_sum_as_one_group_does(run: train.Run, lanes: train.Lanes) -> bool:
    own = torch.arange(300_001, dtype=torch.float32) % 1000 + run.rank
    together = own.clone()
    dist.all_reduce(together)
    return bool(torch.equal(lanes.all_reduce(own).wait(), together))


def _begins_alike(run: train.Run) -> dict[str, bool]:
    """Whether ranks that have made different parameters have the same ones once they are kept together."""
    found = {}
    for mode in ("plain", "ddp", "local"):
        torch.manual_seed(run.rank)
        model = torch.nn.Linear(4, 4)
        sync = train.Synchronizer(model, torch.optim.SGD(model.parameters(), lr=0.1), mode)
        held = [torch.empty_like(model.weight) for _ in range(run.size)]
        dist.all_gather(held, model.weight.detach())
        found[mode] = all(torch.equal(one, held[0]) for one in held)
        sync.close()
    return found


def _goes_on_while_nobody_waits(lanes: train.Lanes) -> bool:
    future = lanes.all_reduce(torch.ones(1_000_000))
    until = time.monotonic() + 60
    while not future.done() and time.monotonic() < until:
        time.sleep(0.01)
    return bool(future.done())


def _packed(run: train.Run, lanes: train.Lanes, bits: int) -> dict[str, float]:
    """The largest error of one mean, and of the sum of twenty, in steps of the coarsest scale."""
    vectors = [torch.randn(5000, generator=torch.Generator().manual_seed(rank)) for rank in range(run.size)]
    right = torch.stack(vectors).mean(dim=0)
    scale = max(float(vector.abs().max()) for vector in vectors) / (2 ** (bits - 1) - 1)
    exchange, rest = Exchange(lanes, bits), Rest()
    means = [exchange.mean(vectors[run.rank].clone(), rest) for _ in range(20)]
    total = torch.stack(means).sum(dim=0) - 20 * right
    return {"one": float((means[0] - right).abs().max()) / scale, "twenty": float(total.abs().max()) / scale}


def _distance_from_diloco(run: train.Run) -> float:
    model, optimizer = small.make(torch.float64)
    sync = train.Synchronizer(model, optimizer, "local", every=5, fragments=1, overlap=0)
    for number in range(20):
        small.step(sync.model, optimizer, number, run.rank)
    expected = small.diloco(run.size, steps=20, every=5, lr=0.7, momentum=0.9)
    differences = [float((a.detach() - b).abs().max()) for a, b in zip(model.parameters(), expected, strict=True)]
    sync.close()
    return max(differences)


def _continues_exactly(run: train.Run, options: dict[str, Any], folder: Path) -> bool:
    whole = small.Small(run, options, folder / "whole")
    expected = [*whole.losses(small.STEPS), *whole.end()]
    begun = small.Small(run, options, folder / "job")
    losses = list(begun.losses(17))
    begun.end()
    continued = small.Small(run, options, folder / "job")
    return [*losses, *continued.losses(small.STEPS), *continued.end()] == expected


if __name__ == "__main__":
    main(Path(sys.argv[1]))
