"""`corral bench`: where a benchmark runs, and what comes of it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path

from corral.errors import InputError
from corral.jobs.desk import Desk
from corral.jobs.request import Resources
from corral.jobs.site import SITE_FILE
from corral.measure import nccl_tests
from corral.measure.collective import CollectiveReport, report_of
from corral.measure.here import gauge_here
from corral.measure.records import Record
from corral.measure.send import Notice, gauge
from corral.slurm.text import NODES_SCRIPT, PARTITIONS_SCRIPT, parse_nodes, parse_partitions
from corral.workflows.desk import open_desk

_PART = "\x1e"
_MAX_BYTES = 64 << 20
_PATIENCE_S = 3.0
"""Unless somebody names the largest size, sizes end where one run takes longer."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where to measure, as the person said it."""

    cluster: str | None = None
    user: str | None = None
    nodes: int | None = None
    """None: all that can run jobs."""
    resources: Resources = field(default_factory=Resources)
    environment: str = ""
    here: bool = False
    """On this very machine, without Slurm."""
    ranks: int = 0
    """Here only: processes; 0 is one per GPU, or one."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What to run a collective with; None leaves it to the gauge."""

    min_bytes: int = 8
    max_bytes: int | None = None
    factor: float = 2.0
    iterations: int | None = None
    warmup: int | None = None
    dtype: str = "float"
    backend: str = ""

    def __post_init__(self) -> None:
        if self.max_bytes is not None and self.max_bytes < self.min_bytes:
            raise InputError(f"--max-bytes is {self.max_bytes}, less than --min-bytes, which is {self.min_bytes}")
        if self.factor <= 1:
            raise InputError(f"--factor {self.factor:g}: sizes have to grow, so write a number above 1")

    def arguments(self) -> list[str]:
        options = {
            "min-bytes": self.min_bytes,
            "max-bytes": self.max_bytes,
            "factor": self.factor,
            "iterations": self.iterations,
            "warmup": self.warmup,
            "dtype": self.dtype,
            "backend": self.backend or None,
            "patience-s": _PATIENCE_S if self.max_bytes is None else None,
        }
        return [f"--{name}={value}" for name, value in options.items() if value is not None]

    def nccl_tests_options(self) -> list[str]:
        """The same for NVIDIA's programs."""
        options = {
            "-b": self.min_bytes,
            "-e": self.max_bytes or _MAX_BYTES,
            "-f": f"{self.factor:g}",
            "-n": self.iterations,
            "-w": self.warmup,
            "-d": self.dtype,
        }
        return [word for name, value in options.items() if value is not None for word in (name, str(value))]


async def bench_collective(
    collective: str, sizes: Sizes, place: Place, notice: Notice, on_record: Callable[[Record], None]
) -> CollectiveReport:
    """Run it; every record is told as it comes."""
    arguments = [collective, *sizes.arguments()]
    async with AsyncExitStack() as opened:
        if place.here:
            where = "this machine"
            told = gauge_here("corral.gauges.collective", arguments, place.environment, ranks=place.ranks)
        else:
            desk = await opened.enter_async_context(open_desk(place.cluster, place.user))
            where, told = desk.site.cluster, await _sent(desk, arguments, place, notice)
        records = []
        async for record in await opened.enter_async_context(aclosing(told)):
            on_record(record)
            records.append(record)
    return report_of(records, where)


async def bench_nccl_tests(
    collective: str, path: str, mpi: str, sizes: Sizes, place: Place, notice: Notice, on_line: Callable[[str], None]
) -> CollectiveReport:
    """Run NVIDIA's own program on the nodes; every line is told as it comes."""
    async with AsyncExitStack() as opened:
        desk = await opened.enter_async_context(open_desk(place.cluster, place.user))
        resources = await _resources(desk, place)
        command, options = nccl_tests.program(collective, path), sizes.nccl_tests_options()
        told = nccl_tests.lines_of(desk, command, options, resources, mpi, notice)
        lines = []
        async for line in await opened.enter_async_context(aclosing(told)):
            on_line(line)
            lines.append(line)
        return nccl_tests.parse(lines, collective, desk.site.cluster)


async def _resources(desk: Desk, place: Place) -> Resources:
    return replace(place.resources, nodes=place.nodes or len(await usable_nodes(desk, place.resources.partition)))


async def _sent(desk: Desk, arguments: list[str], place: Place, notice: Notice) -> AsyncGenerator[Record, None]:
    resources = await _resources(desk, place)
    environment = environment_for(place.cluster, place.environment)
    return gauge(desk, "corral.gauges.collective", arguments, resources, environment, ddp=True, notice=notice)


async def usable_nodes(desk: Desk, partition: str = "") -> list[str]:
    """The nodes of a partition, or of the default one, that can run jobs."""
    said = await desk.must(f"{NODES_SCRIPT} && printf '{_PART}' && {PARTITIONS_SCRIPT}")
    nodes, partitions = said.split(_PART)
    wanted = partition or next((one.name for one in parse_partitions(partitions) if one.default), "")
    found = [node.name for node in parse_nodes(nodes, "") if node.healthy and (not wanted or wanted in node.partitions)]
    if not found:
        raise InputError(f"{desk.site.cluster} has no node that can run jobs now. Try: corral doctor")
    return found


def environment_for(cluster: str | None, wanted: str) -> str:
    """As asked; else the cluster file's; else, on a local cluster, the operator's own if it has torch: nodes see it."""
    if wanted or (cluster is None and Path(SITE_FILE).is_file()):
        return wanted
    from corral.workflows.state import find_cluster

    spec = find_cluster(cluster)
    is_environment = sys.prefix != sys.base_prefix and importlib.util.find_spec("torch") is not None
    return str(spec.check.env or "") or (sys.prefix if is_environment and spec.local is not None else "")
