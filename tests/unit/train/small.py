"""A training so small that every step of it can be followed, and DiLoCo written down plainly to compare with."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

from corral import train

STEPS = 30
"""Of the trainings that are compared."""
MODES: dict[str, dict[str, Any]] = {
    "plain": {"mode": "plain"},
    "ddp": {"mode": "ddp"},
    "bf16": {"mode": "bf16"},
    "powersgd": {"mode": "powersgd"},
    "local": {"mode": "local", "every": 8, "fragments": 3, "overlap": 2},
    "local, 8 bits": {"mode": "local", "every": 8, "fragments": 3, "overlap": 2, "bits": 8},
    "local, 4 bits": {"mode": "local", "every": 8, "fragments": 3, "overlap": 2, "bits": 4},
}


def make(dtype: Any = torch.float32) -> tuple[Any, Any]:
    torch.manual_seed(7)
    model = nn.Sequential(nn.Linear(24, 48), nn.Tanh(), nn.Linear(48, 4)).to(dtype)
    return model, torch.optim.AdamW(model.parameters(), lr=0.01)


def step(model: Any, optimizer: Any, number: int, rank: int) -> str:
    """One step on data of the rank's own; the loss to the last bit."""
    dtype = next(model.parameters()).dtype
    x = torch.randn(8, 24, generator=torch.Generator().manual_seed(1000 * number + rank)).to(dtype)
    loss = nn.functional.cross_entropy(model(x), x[:, :4].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return float(loss).hex()


class Small:
    """The training with a synchronizer and checkpoints."""

    def __init__(self, run: train.Run, options: dict[str, Any], folder: Path) -> None:
        self.run = run
        self.model, self.optimizer = make()
        self.sync = train.Synchronizer(self.model, self.optimizer, **options)
        registered = {"model": self.model, "optimizer": self.optimizer, "sync": self.sync}
        self.state = run.restore(registered, every_s=3600, folder=folder)

    def losses(self, until: int) -> Iterator[str]:
        for number in self.state.steps(until):
            yield step(self.sync.model, self.optimizer, number, self.run.rank)

    def end(self) -> list[str]:
        self.sync.close()
        return [float(parameter.detach().double().sum()).hex() for parameter in self.model.parameters()]


def diloco(ranks: int, steps: int, every: int, lr: float, momentum: float) -> list[Any]:
    """The parameters that all share after local training without overlap, in one fragment, computed in one process."""
    replicas = [make(torch.float64) for _ in range(ranks)]
    shared = [parameter.detach().clone() for parameter in replicas[0][0].parameters()]
    outer = [nn.Parameter(copy.deepcopy(one)) for one in shared]
    optimizer = torch.optim.SGD(outer, lr=lr, momentum=momentum, nesterov=True)
    for number in range(steps):
        for rank, (model, inner) in enumerate(replicas):
            step(model, inner, number, rank)
        if (number + 1) % every == 0:
            for at, parameter in enumerate(outer):
                moved = torch.stack([list(model.parameters())[at].detach() for model, _ in replicas])
                parameter.grad = parameter.detach() - moved.mean(dim=0)
            optimizer.step()
            for model, _ in replicas:
                for own, common in zip(model.parameters(), outer, strict=True):
                    own.data.copy_(common.data)
    return [parameter.detach() for parameter in outer]
