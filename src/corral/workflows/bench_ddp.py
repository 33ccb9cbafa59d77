"""`corral bench ddp`: training steps on 1 to N nodes, of a cluster or of this very machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from corral.errors import InputError
from corral.jobs.request import Resources
from corral.measure.records import Record
from corral.measure.scaling import Row, Scaling, row_of, scaling
from corral.measure.send import Notice
from corral.measure.training import Script, Training, train, train_here, train_script
from corral.workflows.bench import environment_for, usable_nodes
from corral.workflows.desk import open_desk


@dataclass(frozen=True, slots=True)
class Place:
    """Where to measure, as the person said it."""

    cluster: str | None = None
    user: str | None = None
    resources: Resources = field(default_factory=Resources)
    environment: str = ""
    counts: tuple[int, ...] = ()
    """Numbers of nodes; without any, 1 to all."""
    here: bool = False


async def measure_training(
    what: Training | Script, place: Place, notice: Notice, on_row: Callable[[Row], None]
) -> Scaling:
    """Everything that was asked for; rows are told as they come."""
    if place.here:
        return await _measure_here(what, place, on_row)
    environment = environment_for(place.cluster, place.environment)
    async with open_desk(place.cluster, place.user) as desk:
        counts = place.counts or tuple(range(1, len(await usable_nodes(desk, place.resources.partition)) + 1))
        resources = replace(place.resources, nodes=max(counts))
        if isinstance(what, Training):
            records = train(desk, replace(what, counts=counts), resources, environment, notice)
        else:
            records = train_script(desk, what, counts, resources, environment, notice)
        return scaling(desk.site.cluster, [_heard(record, on_row) async for record in records])


async def _measure_here(what: Training | Script, place: Place, on_row: Callable[[Row], None]) -> Scaling:
    if isinstance(what, Training):
        what = replace(what, counts=place.counts)
    records = train_here(what, place.counts or (1,), place.environment)
    return scaling("this machine", [_heard(record, on_row) async for record in records])


def _heard(record: Record, on_row: Callable[[Row], None]) -> Record:
    if record["kind"] == "row":
        on_row(row_of(record))
    return record


def counts_of(text: str) -> tuple[int, ...]:
    """`3` is 1 to 3; `1,3` is just these; nothing is all there are."""
    try:
        numbers: Sequence[int] = [int(part) for part in text.split(",")] if text else []
    except ValueError:
        numbers = [0]
    if any(number < 1 for number in numbers):
        raise InputError(f"--nodes {text}: write how many, such as 3 for one to three, or a list, such as 1,2,4")
    return tuple(range(1, numbers[0] + 1)) if len(numbers) == 1 else tuple(sorted(set(numbers)))
