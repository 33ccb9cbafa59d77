"""What `submit`, `map` and `sweep` may be told besides what to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TypedDict

from corral.errors import InputError
from corral.jobs.request import Gpus, Resources, parse_gpus, parse_memory, parse_time


class Options(TypedDict, total=False):
    """Everything counts per node. What is left out is the cluster's choice, as with `corral run`."""

    nodes: int
    gpus: int | str
    """1, "rtx5090" or "rtx5090:2"."""
    cpus: int
    mem: str
    """"16G"."""
    time: str | int | timedelta
    """"2h", minutes, or a timedelta."""
    partition: str
    qos: str
    account: str
    name: str
    env: str
    """A virtual environment, a conda environment or a container image."""
    ddp: bool
    after: Sequence[object]
    """Jobs, or their numbers, that must have ended well before."""
    folder: str | Path | None
    """The working folder to send along: this one by default, None for none."""


def check(options: Mapping[str, object]) -> None:
    """An option that does not exist is a mistake, and here are those that do."""
    unknown = [name for name in options if name not in Options.__annotations__]
    if unknown:
        raise InputError(f"there is no option '{unknown[0]}'; there are: {', '.join(Options.__annotations__)}")


def resources(options: Options) -> Resources:
    gpus = options.get("gpus")
    time = options.get("time")
    mem = options.get("mem")
    return Resources(
        nodes=options.get("nodes", 1),
        gpus=None if gpus is None else Gpus(gpus) if isinstance(gpus, int) else parse_gpus(gpus),
        cpus=options.get("cpus"),
        memory_mib=None if mem is None else parse_memory(str(mem)),
        time_limit_min=None if time is None else _minutes(time),
        partition=options.get("partition", ""),
        qos=options.get("qos", ""),
        account=options.get("account", ""),
    )


def _minutes(time: str | int | timedelta) -> int:
    return parse_time(f"{round(time.total_seconds())}s" if isinstance(time, timedelta) else str(time))
