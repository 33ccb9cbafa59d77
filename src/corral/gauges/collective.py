"""How fast collectives are: `python3 -m corral.gauges.collective allreduce`, started by torchrun on every rank.

Tells, in this order: `setup`, `tcp` (where there are several nodes), then one `row` for each size and variant, and
`stopped` where larger sizes would take too long. A variant is a way to carry the data: `untuned` as torch does it,
`tuned` so that a slow link is full.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from corral.gauges.operations import DTYPES, OPERATIONS, Operation, bytes_of, count_of
from corral.gauges.report import tell
from corral.gauges.ring import measure_ring
from corral.gauges.tcp import Station
from corral.inside import group
from corral.inside.interface import own_address_towards
from corral.train.lanes import GLOO_LANES, Lanes

_LEAST_ITERATIONS, _MOST_ITERATIONS = 3, 20
_WARMUP = 5
_LONG_S = 1.0
VARIANTS = ("untuned", "tuned")

_INFINIBAND = Path("/sys/class/infiniband")
_SOCKETS = {"NCCL_SOCKET_NTHREADS": "4", "NCCL_NSOCKS_PERTHREAD": "4"}
"""What lanes are to gloo, as `corral.train.init` sets it."""


def main(arguments: list[str]) -> int:
    """Measure, in one process or, where a variant is an environment, in one for each."""
    options = _options(arguments)
    backend = options.backend or ("nccl" if torch.cuda.is_available() else "gloo")
    if backend == "nccl" and not options.variant:
        return _in_processes(arguments)
    bench = Bench(options, backend)
    bench.measure()
    dist.barrier(bench.control)
    dist.destroy_process_group()
    return 0


class Bench:
    """One run of one collective."""

    def __init__(self, options: argparse.Namespace, backend: str) -> None:
        self.options, self.backend = options, backend
        self.local_rank = int(os.environ["LOCAL_RANK"])
        self.node = int(os.environ["GROUP_RANK"])
        self.device = torch.device("cpu")
        if backend == "nccl":
            self.device = torch.device("cuda", self.local_rank)
            torch.cuda.set_device(self.device)
        dist.init_process_group(backend)
        group.settle_at_exit()
        self.rank, self.size = int(dist.get_rank()), int(dist.get_world_size())
        self.control = dist.new_group(backend="gloo")
        self.lanes = {variant: self._lanes(variant) for variant in self._variants()}

    def measure(self) -> None:
        """Everything, one size after the other, the variants of a size side by side."""
        hosts = self._everybodys((self.node, socket.gethostname()))
        if self.options.variant != "tuned":
            self._tell(
                "setup",
                collective=self.options.collective,
                backend=self.backend,
                device=_device_name(self.device),
                torch=str(torch.__version__),
                ranks=self.size,
                hosts=[name for _, name in sorted(set(hosts))],
            )
            if len(set(hosts)) > 1:
                self._links(dict(hosts))
        for size_bytes in self._sizes():
            slowest = max(self._row(variant, size_bytes) for variant in self.lanes)
            if self.options.patience_s and slowest > self.options.patience_s:
                self._tell("stopped", size_bytes=size_bytes, time_s=slowest)
                return

    def _row(self, variant: str, size_bytes: int) -> float:
        """Measure and tell; the time of the slower of both places."""
        kind, dtype = OPERATIONS[self.options.collective], DTYPES[self.options.dtype]
        element_bytes = torch.empty(0, dtype=dtype).element_size()
        count = count_of(kind, size_bytes, element_bytes, self.size)
        if count == 0:
            return 0.0
        operation = kind(self.lanes[variant], count, dtype, self.device)
        out = self._timed(operation, in_place=False)
        inside = self._timed(operation, in_place=True) if kind.has_in_place else None
        self._tell(
            "row",
            variant=variant,
            how=self._how(variant),
            size_bytes=bytes_of(kind, count, element_bytes, self.size),
            count=count,
            type=self.options.dtype,
            redop=kind.redop,
            out_of_place=out,
            in_place=inside,
        )
        return max(float(place["time_s"]) for place in (out, inside) if place)

    def _timed(self, operation: Operation, *, in_place: bool) -> dict[str, float]:
        """The first run is checked, and pays for fresh memory; where one takes long, it is the one that counts."""
        operation.prepare(in_place=in_place)
        first_s = self._time(operation, 1)
        wrong = int(self._agreed(operation.wrong(), dist.ReduceOp.SUM))
        iterations, warmup = self.options.iterations, self.options.warmup
        if iterations is None:
            if first_s > _LONG_S:
                return {"time_s": first_s, "wrong": wrong, "iterations": 1}
            fitting = int(self.options.budget_s / max(first_s, 1e-9))
            iterations = int(self._agreed(min(_MOST_ITERATIONS, max(_LEAST_ITERATIONS, fitting)), dist.ReduceOp.MAX))
        if warmup is None:
            warmup = max(0, min(_WARMUP, iterations // 2 - 1))
        if warmup:
            self._time(operation, warmup)
        return {"time_s": self._time(operation, iterations), "wrong": wrong, "iterations": iterations}

    def _time(self, operation: Operation, iterations: int) -> float:
        """Seconds of one iteration, the average over all ranks."""
        dist.barrier(self.control)
        before = time.perf_counter()
        for _ in range(iterations):
            operation.run()
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        total_s = self._agreed(time.perf_counter() - before, dist.ReduceOp.SUM)
        return total_s / (self.size * iterations)

    def _links(self, hosts: dict[int, str]) -> None:
        """Raw TCP from every node to the next, by one process of each."""
        with Station() as station:
            own = (own_address_towards(os.environ["MASTER_ADDR"]) or socket.gethostname(), station.port)
            leads = self.local_rank == 0
            stations = dict(found for found in self._everybodys((self.node, own) if leads else None) if found)
            places = sorted(stations)
            found_here = measure_ring(
                places.index(self.node) if leads else None,
                [stations[node] for node in places],
                lambda: dist.barrier(self.control),
            )
            rates = dict(found for found in self._everybodys((self.node, found_here) if leads else None) if found)
        links = []
        for at, node in enumerate(places):
            after = hosts[places[(at + 1) % len(places)]]
            links.append({"from": hosts[node], "to": after, **asdict(rates[node])})
        self._tell("tcp", links=links)

    def _sizes(self) -> Iterator[int]:
        size = self.options.min_bytes
        while size <= self.options.max_bytes:
            yield size
            size = max(size + 1, int(size * self.options.factor))

    def _variants(self) -> tuple[str, ...]:
        return (self.options.variant,) if self.options.variant else VARIANTS

    def _lanes(self, variant: str) -> Lanes:
        return Lanes(count=GLOO_LANES if variant == "tuned" and self.backend == "gloo" else 1)

    def _how(self, variant: str) -> str:
        if self.backend == "gloo":
            tuned = OPERATIONS[self.options.collective].tuned
            return f"gloo, {tuned if variant == 'tuned' else 'one process group'}"
        settings = _socket_settings() if variant == "tuned" else {}
        return " ".join(["nccl", *(f"{name}={os.environ[name]}" for name in settings)]) if settings else "nccl as it is"

    def _tell(self, kind: str, **fields: object) -> None:
        if self.rank == 0:
            tell(kind, **fields)

    def _agreed(self, value: float, how: Any) -> float:
        shared = torch.tensor([value], dtype=torch.float64)
        dist.all_reduce(shared, op=how, group=self.control)
        return float(shared[0])

    def _everybodys(self, value: Any) -> list[Any]:
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value, group=self.control)
        return values


def _in_processes(arguments: list[str]) -> int:
    """NCCL reads its settings once in a process. Without a network between nodes there is nothing to set."""
    several = int(os.environ["WORLD_SIZE"]) > int(os.environ["LOCAL_WORLD_SIZE"])
    for number, variant in enumerate(VARIANTS if several and _socket_settings() else VARIANTS[:1], start=1):
        # torchrun keeps the store of the first port; every variant makes its own beside it.
        environment = os.environ | {
            "MASTER_PORT": str(int(os.environ["MASTER_PORT"]) + number),
            "TORCHELASTIC_USE_AGENT_STORE": "False",
            **(_socket_settings() if variant == "tuned" else {}),
        }
        command = [sys.executable, "-m", "corral.gauges.collective", *arguments, f"--variant={variant}"]
        code = subprocess.run(command, env=environment, check=False).returncode
        if code:
            return code if code > 0 else 128 - code
    return 0


def _socket_settings() -> dict[str, str]:
    """What makes NCCL fill Ethernet, unless the user chose."""
    if _INFINIBAND.is_dir() and any(_INFINIBAND.iterdir()):
        return {}
    return {name: os.environ.get(name, value) for name, value in _SOCKETS.items()}


def _device_name(device: Any) -> str:
    return str(torch.cuda.get_device_name(device)) if device.type == "cuda" else "cpu"


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="corral.gauges.collective")
    parser.add_argument("collective", choices=OPERATIONS)
    parser.add_argument("--min-bytes", type=int, default=8)
    parser.add_argument("--max-bytes", type=int, default=64 << 20)
    parser.add_argument("--factor", type=float, default=2)
    parser.add_argument("--iterations", type=int, help="exactly as many, instead of as many as fit the budget")
    parser.add_argument("--warmup", type=int)
    parser.add_argument("--budget-s", type=float, default=0.5, help="for one size, variant and place")
    parser.add_argument("--patience-s", type=float, default=0.0, help="no larger sizes when one takes longer")
    parser.add_argument("--dtype", choices=DTYPES, default="float")
    parser.add_argument("--backend", choices=("gloo", "nccl"))
    parser.add_argument("--variant", choices=VARIANTS, help="this one alone")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
