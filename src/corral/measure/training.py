"""Sends the gauges of training: built-in models in one job, somebody's own script as a job for each number of nodes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corral.errors import InputError
from corral.gauges.sizes import MODELS, MODES, PRECISIONS, Gpt
from corral.jobs.desk import Desk
from corral.jobs.request import Resources
from corral.measure.here import gauge_here
from corral.measure.records import Record
from corral.measure.send import Notice, gauge, say_nothing

_GAUGE = "corral.gauges.training"
_SCRIPT_GAUGE = "corral.gauges.script"


@dataclass(frozen=True, slots=True)
class Training:
    """What to measure of the built-in models. None leaves it to the gauge, which knows the device."""

    models: tuple[str, ...] = ()
    modes: tuple[str, ...] = MODES
    counts: tuple[int, ...] = ()
    batch: int | None = None
    sequence: int | None = None
    precision: str = "fp32"
    compute_ms: float | None = None
    compiled: bool = False
    accumulate: int | None = None
    every: int | None = None
    fragments: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for option, names, known in (
            ("--models", self.models, tuple(MODELS)),
            ("--modes", self.modes, MODES),
            ("--precision", (self.precision,), PRECISIONS),
        ):
            for name in names:
                if name not in known:
                    raise InputError(f"{option} {name}: there is none; there are: {', '.join(known)}")
        for name in self.models:
            size = MODELS[name]
            if self.sequence and isinstance(size, Gpt) and self.sequence > size.context:
                raise InputError(f"--sequence {self.sequence}: {name} reads at most {size.context} words")
        if self.compiled and self.compute_ms is not None:
            raise InputError("--compile and --compute-ms: a stated compute time needs hooks that compiling removes")

    def arguments(self) -> list[str]:
        """For the gauge."""
        texts = {
            "--models": ",".join(self.models),
            "--modes": ",".join(self.modes),
            "--counts": ",".join(map(str, self.counts)),
            "--precision": self.precision,
        }
        numbers = {
            "--batch": self.batch,
            "--sequence": self.sequence,
            "--compute-ms": self.compute_ms,
            "--accumulate": self.accumulate,
            "--every": self.every,
            "--fragments": self.fragments,
            "--seconds": self.seconds,
        }
        given = texts | {name: "" if number is None else f"{number:g}" for name, number in numbers.items()}
        found = [word for name, value in given.items() if value for word in (name, value)]
        return [*found, *(["--compile"] if self.compiled else [])]


@dataclass(frozen=True, slots=True)
class Script:
    """Somebody's own script; `every` steps of it belong together."""

    words: tuple[str, ...]
    folder: Path
    every: int | None = None
    seconds: float | None = None

    def arguments(self, count: int) -> list[str]:
        """For the gauge, on so many nodes."""
        found = ["--count", str(count)]
        for name, value in (("--every", self.every), ("--seconds", self.seconds)):
            found += [] if value is None else [name, f"{value:g}"]
        return [*found, *self.words]


async def train(
    desk: Desk, what: Training, resources: Resources, environment: str, notice: Notice = say_nothing
) -> AsyncGenerator[Record, None]:
    """Every number of nodes up to the resources', in one job."""
    async for record in gauge(desk, _GAUGE, what.arguments(), resources, environment, ddp=True, notice=notice):
        yield record


async def train_script(
    desk: Desk,
    what: Script,
    counts: Sequence[int],
    resources: Resources,
    environment: str,
    notice: Notice = say_nothing,
) -> AsyncGenerator[Record, None]:
    """One job after the other: a script has the whole job to itself."""
    for count in counts:
        asked = replace(resources, nodes=count)
        records = gauge(
            desk,
            _SCRIPT_GAUGE,
            what.arguments(count),
            asked,
            environment,
            ddp=True,
            folder=what.folder,
            notice=notice,
        )
        async for record in records:
            yield record


async def train_here(what: Training | Script, counts: Sequence[int], environment: str) -> AsyncGenerator[Record, None]:
    """The same on this machine, without Slurm: processes are counted instead of nodes, one per GPU if nobody says."""
    if isinstance(what, Training):
        async for record in gauge_here(_GAUGE, what.arguments(), environment, ranks=max(what.counts, default=0)):
            yield record
        return
    for count in counts:
        async for record in gauge_here(_SCRIPT_GAUGE, what.arguments(count), environment, ranks=count):
            yield record
