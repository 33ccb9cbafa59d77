"""Runs on every node: trains the example's language model in every mode, and tells how fast or how well.

`job.py throughput` paces steps to a stated compute time; `job.py losses` trains as fast as the machine can.
Expects `train_lm.py` beside it.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.distributed as dist
import train_lm

from corral import train
from corral.gauges.pace import Pace
from corral.gauges.report import tell

ALONE = "one node"
_MODES: dict[str, dict[str, Any]] = {
    "plain": {"mode": "plain"},
    "ddp": {"mode": "ddp"},
    "bf16": {"mode": "bf16"},
    "powersgd": {"mode": "powersgd"},
    "local": {"mode": "local"},
    "local, 8 bits": {"mode": "local", "bits": 8},
    "local, 4 bits": {"mode": "local", "bits": 4},
}
_POWERSGD_FROM = 11
"""Steps until torch's hook compresses."""
_LENGTH = 32
_FAR = 1_000_000
"""Steps between the data of one seed and the next."""


class Training:
    """One training from its beginning, the same on every rank but for the data."""

    def __init__(self, run: train.Run, options: argparse.Namespace, mode: str, compute_s: float = 0.0) -> None:
        torch.manual_seed(options.seed)
        self.run, self.options = run, options
        # Of a paced step the gradients of a few samples are computed: they are as large as those of many.
        self.text = train_lm.Text(options.real if compute_s else options.batch, _LENGTH, run.device)
        self.model = train_lm.Model()
        lr = options.local_lr if mode.startswith("local") else options.lr
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=lr, fused=True)
        shape = train_lm.warm_then_cosine(options.steps)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, shape)
        self.pace = Pace(compute_s)
        self.pace.hold(self.model.blocks, self.optimizer)
        self.sync: train.Synchronizer | None = None
        if mode != ALONE:
            local = {"every": options.every, "fragments": options.fragments, "overlap": options.overlap}
            outer = {"outer_lr": options.outer_lr, "outer_momentum": options.outer_momentum}
            self.sync = train.Synchronizer(self.model, self.optimizer, **_MODES[mode], **local, **outer)
        self.called = self.sync.model if self.sync is not None else self.model
        self.done = 0

    def steps(self, count: int) -> float:
        """So many steps; the mean loss of this rank."""
        losses = []
        for _ in range(count):
            self.pace.begin()
            loss = self.called(self.text.draw(_FAR * self.options.seed + self.done, self.run.rank))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.schedule.step()
            losses.append(loss.item())
            self.done += 1
        return float(statistics.mean(losses))

    def validation(self, within: Callable[[], AbstractContextManager[None]] = nullcontext) -> float:
        """The loss on text that is not learned, with the parameters that all ranks share."""
        with within(), torch.no_grad():
            return float(self.model(self.text.validation(self.options.validation)))

    def close(self) -> None:
        if self.sync is not None:
            self.sync.close()


def throughput(run: train.Run, options: argparse.Namespace) -> None:
    for mode in (ALONE, *options.modes):
        if mode == ALONE and run.rank != 0:
            dist.barrier()
            continue
        training = Training(run, options, mode, options.compute_ms / 1000)
        local = mode.startswith("local")
        training.steps(2 * options.every if local else _POWERSGD_FROM if mode == "powersgd" else 2)
        # Whole rounds of mode local, so that every window has its share of the exchange.
        count = options.every * 8 if local or mode == ALONE else options.window
        taken = [_timed(training, count, together=mode != ALONE) for _ in range(options.windows)]
        ranks = 1 if mode == ALONE else run.size
        rates = [options.batch * ranks * count / one for one in taken]
        late = statistics.median(training.pace.late_s)
        if run.rank == 0:
            sizes = {"parameters": _count(training.model), "batch": options.batch, "real": options.real}
            tell("rate", mode=mode, samples_s=rates, late_s=late, **sizes)
        if mode == ALONE:
            dist.barrier()
        else:
            training.close()


def losses(run: train.Run, options: argparse.Namespace) -> None:
    for mode in options.modes:
        training = Training(run, options, mode)
        assert training.sync is not None
        if run.rank == 0:
            tell("options", **vars(options))
        began = time.perf_counter()
        while training.done < options.steps:
            own = training.steps(min(options.report, options.steps - training.done))
            learned = _mean(own, run.size)
            kept = training.validation(training.sync.shared)
            samples = training.done * options.batch * run.size
            if run.rank == 0:
                tell("loss", mode=mode, samples=samples, learned=learned, kept=kept)
        training.close()
        final = training.validation()
        if run.rank == 0:
            tell("end", mode=mode, kept=final, seconds=time.perf_counter() - began)


def _timed(training: Training, count: int, *, together: bool) -> float:
    if together:
        dist.barrier()
    began = time.perf_counter()
    training.steps(count)
    if together:
        dist.barrier()
    return time.perf_counter() - began


def _mean(value: float, size: int) -> float:
    total = torch.tensor([value], dtype=torch.float64)
    dist.all_reduce(total)
    return float(total) / size


def _count(model: Any) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("throughput", "losses"))
    parser.add_argument("--modes", nargs="+", default=list(_MODES), choices=list(_MODES))
    parser.add_argument("--compute-ms", type=float, default=90.0)
    parser.add_argument("--windows", type=int, default=3)
    parser.add_argument("--window", type=int, default=5, help="steps of a window, but of mode local")
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--seed", type=int, default=0, help="of parameters and data")
    parser.add_argument("--report", type=int, default=100)
    # About all of the text that is kept: by few samples, how two trainings compare is a matter of chance.
    parser.add_argument("--validation", type=int, default=4096, help="samples that a loss is measured by")
    parser.add_argument("--batch", type=int, default=48)
    parser.add_argument("--real", type=int, default=4, help="samples that a paced step of so many computes for real")
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--local-lr", type=float, default=5e-3, help="of mode local's inner optimizer")
    parser.add_argument("--every", type=int, default=3)
    parser.add_argument("--fragments", type=int, default=3)
    parser.add_argument("--overlap", type=int, default=1)
    parser.add_argument("--outer-lr", type=float, default=1.0)
    parser.add_argument("--outer-momentum", type=float, default=0.0)
    return parser.parse_args()


if __name__ == "__main__":
    torch.set_num_threads(1)
    given = _options()
    joined = train.init()
    {"throughput": throughput, "losses": losses}[given.what](joined, given)
    dist.barrier()
    dist.destroy_process_group()
