"""What the ladder measured, as charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from corral.checks.ladder.rung import Result
from corral.plots.chart import Chart, Kind, Series


def charts(results: Sequence[Result]) -> list[Chart]:
    """A chart for every rung that measured something worth seeing."""
    numbers = {result.rung: cast("Any", result.numbers) for result in results}
    found = []
    if numbers.get("overlap"):
        found.append(_overlap(numbers["overlap"]["intervals"]))
    if numbers.get("pairs"):
        found += _pairs(numbers["pairs"]["pairs"])
    if numbers.get("allreduce", {}).get("tcp_bit_s"):
        found.append(_allreduce(numbers["allreduce"]))
    if numbers.get("training", {}).get("losses"):
        points = tuple((float(step), float(loss)) for step, loss in numbers["training"]["losses"])
        found.append(Chart("A small training over all nodes", "step", "loss", (Series("loss", points),)))
    return found


def _allreduce(total: dict[str, Any]) -> Chart:
    bars = Series("", ((0.0, total["tcp_bit_s"] / 1e9), (1.0, total["bus_bit_s"] / 1e9)))
    names = ("TCP, slowest pair", f"all-reduce, {total['backend']}")
    return Chart("All-reduce beside what TCP carries", "", "Gbit/s", (bars,), kind=Kind.BAR, x_names=names)


def _overlap(intervals: Sequence[Sequence[float]]) -> Chart:
    began = min(start for start, _ in intervals)
    steps = sorted([(start - began, 1) for start, _ in intervals] + [(end - began, -1) for _, end in intervals])
    points, running = [(0.0, 0.0)], 0
    for at, step in steps:
        points += [(at, float(running)), (at, float(running + step))]
        running += step
    return Chart("One-GPU jobs running at once", "time (s)", "jobs", (Series("jobs", tuple(points)),))


def _pairs(pairs: Sequence[dict[str, Any]]) -> list[Chart]:
    met = [pair for pair in pairs if not pair["problem"]]
    names = tuple(f"{pair['a']} – {pair['b']}" for pair in met)
    there = Series("there", tuple((float(at), pair["there_bit_s"] / 1e9) for at, pair in enumerate(met)))
    back = Series("back", tuple((float(at), pair["back_bit_s"] / 1e9) for at, pair in enumerate(met)))
    late = Series("latency", tuple((float(at), pair["latency_s"] * 1e6) for at, pair in enumerate(met)))
    return [
        Chart("TCP between every pair of nodes", "", "Gbit/s", (there, back), kind=Kind.BAR, x_names=names),
        Chart("A byte's way between every pair of nodes", "", "µs", (late,), kind=Kind.BAR, x_names=names),
    ]
