"""A small training over all ranks, each with data of its own: its loss must fall, and all must learn the same."""

from __future__ import annotations

import hashlib
import time

import torch
import torch.distributed as dist

from corral import train
from corral.gauges.report import tell

_WIDTH = 64
_BATCH = 64
_EVERY = 5
"""How often the loss is told."""


def learn(run: train.Run, steps: int) -> None:
    """Tells the loss on the way, and at the end what everybody learned."""
    began = time.perf_counter()
    torch.manual_seed(0)
    teacher = torch.randn(_WIDTH, 1, device=run.device) / _WIDTH**0.5
    model = torch.nn.Sequential(torch.nn.Linear(_WIDTH, _WIDTH), torch.nn.Tanh(), torch.nn.Linear(_WIDTH, 1))
    model = model.to(run.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    sync = train.Synchronizer(model, optimizer, mode="ddp")
    # From here on everybody's numbers are their own: without a synchronisation that works, so would be the models.
    torch.manual_seed(1 + run.rank)
    for step in range(steps + 1):
        inputs = torch.randn(_BATCH, _WIDTH, device=run.device)
        loss = torch.nn.functional.mse_loss(sync.model(inputs), torch.tanh(inputs @ teacher))
        if step % _EVERY == 0:
            _tell_loss(run, step, loss.detach())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    _tell_end(run, model, time.perf_counter() - began)
    sync.close()


def _tell_loss(run: train.Run, step: int, loss: torch.Tensor) -> None:
    average = loss / run.size
    dist.all_reduce(average)
    if run.rank == 0:
        tell("loss", step=step, loss=float(average))


def _tell_end(run: train.Run, model: torch.nn.Module, seconds: float) -> None:
    parameters = torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).cpu()
    own = hashlib.sha256(parameters.numpy().tobytes()).hexdigest()[:16]
    digests: list[str] = [""] * run.size
    dist.all_gather_object(digests, own)
    if run.rank == 0:
        tell("end", backend=run.backend, ranks=run.size, digests=digests, seconds=seconds)
