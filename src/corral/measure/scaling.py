"""How training scales: what `corral.gauges.training` and `corral.gauges.script` told, compared with one node."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar

from corral.gauges.sizes import ALONE
from corral.measure.records import Record

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Machine:
    """What it ran on; `unit` is how many processes count as one of `n`."""

    device: str
    cuda: bool
    torch: str
    backend: str
    n: int
    unit: int


@dataclass(frozen=True, slots=True)
class Model:
    """What was trained, per process; `compute_s` is a stated compute time, None for a real one."""

    name: str
    parameters: int
    gradient_bytes: int
    batch: int | None = None
    length: int | None = None
    unit: str = ""
    precision: str = ""
    compute_s: float | None = None
    compiled: bool = False
    accumulate: int = 1
    """Steps whose gradients are added up before they are exchanged and used."""
    every: int | None = None
    """Steps of a round of `local`, which sends the model in so many fragments."""
    fragments: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One model on `n` nodes in one mode. Times are of a step: the median, the extremes."""

    model: str
    mode: str
    n: int
    ranks: int
    step_s: float
    least_s: float
    most_s: float
    windows: int
    steps: int
    samples_s: float | None = None
    tokens_s: float | None = None
    tflop_s: float | None = None
    late_s: float | None = None
    """By how much the machine fell behind a stated compute time."""
    peak_memory_bytes: int | None = None
    forward_s: float | None = None
    backward_s: float | None = None
    optimizer_s: float | None = None

    @property
    def work(self) -> float:
        """Every process does the same in a step, so this is what all of them get done in a second."""
        return self.ranks / self.step_s


@dataclass(frozen=True, slots=True)
class Scaling:
    """Everything that was measured in one run."""

    where: str
    machine: Machine
    models: tuple[Model, ...]
    rows: tuple[Row, ...]

    def of(self, model: str) -> tuple[Row, ...]:
        """The rows of one model."""
        return tuple(row for row in self.rows if row.model == model)

    def base(self, row: Row) -> Row | None:
        """One node of the same: alone where it has one process, else in the same mode."""
        ones = [one for one in self.of(row.model) if one.n == 1]
        return next((one for one in ones if one.mode in (ALONE, row.mode)), None)

    def speedup(self, row: Row) -> float | None:
        """How many times one node's work."""
        base = self.base(row)
        return None if base is None else row.work / base.work

    def efficiency(self, row: Row) -> float | None:
        """The share of n times one node's work."""
        speedup = self.speedup(row)
        return None if speedup is None else speedup / row.n

    def exposed_s(self, row: Row) -> float | None:
        """Of each step, what is not computing: communication that nothing hides."""
        base = self.base(row)
        return None if base is None else max(0.0, row.step_s - base.step_s)

    def to_json(self) -> dict[str, object]:
        """The report, version 1; see docs/bench-ddp.md."""
        return {
            "version": 1,
            "bench": "ddp",
            "where": self.where,
            "machine": asdict(self.machine),
            "models": [asdict(model) for model in self.models],
            "rows": [
                asdict(row)
                | {
                    "steps_s": 1 / row.step_s,
                    "speedup": self.speedup(row),
                    "efficiency": self.efficiency(row),
                    "exposed_s": self.exposed_s(row),
                }
                for row in self.rows
            ],
        }


def scaling(where: str, records: Iterable[Record]) -> Scaling:
    """The report of what a gauge told."""
    found: dict[str, list[Record]] = {"machine": [], "model": [], "row": []}
    for record in records:
        found.get(record["kind"], []).append(record)
    machines = [_typed(Machine, record) for record in found["machine"]]
    models = {str(record["name"]): _typed(Model, record) for record in found["model"]}
    # A script is a job for every number of nodes: the largest has seen most.
    machine = max(machines, key=lambda one: one.n)
    return Scaling(where, machine, tuple(models.values()), tuple(row_of(record) for record in found["row"]))


def row_of(record: Record) -> Row:
    return _typed(Row, record)


def _typed(kind: type[T], record: Record) -> T:
    """What the dataclass knows of a record; a newer gauge may tell more."""
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]  # only dataclasses come here
    wanted: dict[str, Any] = {name: value for name, value in record.items() if name in known}
    return kind(**wanted)
