"""How fast somebody's own training script steps: `python3 -m corral.gauges.script --count 3 train.py ARGS…`.

Runs the script as it is and counts the steps of the first optimizer that takes one, whatever the script uses beside it.
When enough were timed, every process ends, after the same step. Tells what `corral.gauges.training` tells.
"""

from __future__ import annotations

import argparse
import platform
import runpy
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from corral.gauges.report import tell
from corral.gauges.stepping import Timing, windows
from corral.inside import group

MODE = "script"


class Counter:
    """Hears of every optimizer's steps. All ranks take the same number, so they meet where a window ends."""

    def __init__(self, name: str, n: int, budget_s: float, whole: int) -> None:
        self.steps = 0
        self._name, self._n = name, n
        self._plan = windows(budget_s, whole)
        self._left = next(self._plan)
        self._optimizer: Any = None
        self._began = 0.0

    def __call__(self, optimizer: Any, *_: Any) -> None:
        if self._optimizer is None:
            # The first step also allocates and compiles; time begins after it.
            self._optimizer = optimizer
            self._began = _now()
            return
        if optimizer is not self._optimizer:
            return
        self.steps += 1
        self._left -= 1
        if self._left == 0:
            self._end_of_window()

    def _end_of_window(self) -> None:
        taken_us = group.highest([round((_now() - self._began) * 1e6)])[0]
        try:
            self._left = self._plan.send(taken_us / 1e6)
        except StopIteration as end:
            self._tell(end.value)
            group.leave(0)
        self._began = _now()

    def _tell(self, timing: Timing) -> None:
        if group.rank() != 0:
            return
        parameters = sum(one.numel() for part in self._optimizer.param_groups for one in part["params"])
        ranks = group.announced_size()
        if ranks > group.size():
            group.say("the script did not set torch.distributed up: its processes have not trained together")
        tell("machine", **_machine(self._n, ranks))
        tell("model", name=self._name, parameters=parameters, gradient_bytes=parameters * 4)
        row = {"model": self._name, "mode": MODE, "n": self._n, "ranks": ranks, **asdict(timing)}
        if torch.cuda.is_available():
            row["peak_memory_bytes"] = torch.cuda.max_memory_allocated()
        tell("row", **row)


def main(words: list[str] | None = None) -> int:
    """Run the script until enough of its steps were timed; one that ends before has failed."""
    options = _options(words)
    counter = Counter(Path(options.script).name, options.count, options.seconds, options.every)
    register_optimizer_step_post_hook(counter)
    sys.argv = [options.script, *options.arguments]
    sys.path.insert(0, str(Path(options.script).resolve().parent))
    runpy.run_path(options.script, run_name="__main__")
    group.say(f"{options.script} ended after {counter.steps + 1} optimizer steps, too few to say how fast they are")
    return 1


def _now() -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def _machine(n: int, ranks: int) -> dict[str, object]:
    cuda = torch.cuda.is_available()
    return {
        "device": torch.cuda.get_device_name() if cuda else platform.processor() or platform.machine(),
        "cuda": cuda,
        "torch": torch.__version__,
        "backend": torch.distributed.get_backend() if group.size() > 1 else "",
        "n": n,
        "unit": ranks // n,
    }


def _options(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m corral.gauges.script", description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=1, help="what this run counts as: its nodes")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--every", type=int, default=1, help="steps that belong together, such as a round of local")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
