"""The validation as a section of RESULTS.md and as charts."""

from __future__ import annotations

from collections.abc import Sequence

from bench.advise.bed import Report
from bench.advise.cells import Cell, grouped, median_error
from bench.results import table

from corral.advice.quantities import time_words
from corral.plots.chart import Chart, Kind, Series


def section(found: Sequence[Cell], runs: Sequence[Report]) -> str:
    """Medians first, then what was measured of the links, then every cell."""
    first = (
        f"Median error of {len(found)} predicted step times: **{median_error(found):.1%}**; "
        f"{_within(found, 0.1)} of them within 10 %, {_within(found, 0.2)} within 20 %, "
        f"the largest {max(abs(cell.error) for cell in found):.0%}."
    )
    return "\n".join([first, "", _medians(found), "", links(runs), "", _cells(found)])


def links(runs: Sequence[Report]) -> str:
    """What the benchmark of all-reduces found on each link: the predictions rest on it."""
    rows = []
    for run in runs:
        for nodes, report in run["allreduce"].items():
            row = [run["link"], nodes, f"{report['raw_tcp']['limit_bit_s'] / 1e9:.3f}"]
            for variant in report["variants"]:
                largest = variant["largest"]
                row += [f"{largest['busbw_bit_s'] / 1e9:.3f}", f"{largest['share_of_raw_tcp']:.0%}"]
            rows.append(row)
    titles = ("untuned, 16 MiB", "of it", "tuned (lanes)", "of it")
    return table(["all-reduce, Gbit/s", "nodes", "raw TCP", *titles], rows)


def _within(found: Sequence[Cell], most: float) -> int:
    return sum(abs(cell.error) <= most for cell in found)


def _medians(found: Sequence[Cell]) -> str:
    modes = grouped(found, lambda cell: cell.mode)
    rows = []
    for link, of_link in [*grouped(found, lambda cell: cell.link).items(), ("all", list(found))]:
        by_mode = grouped(of_link, lambda cell: cell.mode)
        rows.append([link, *(f"{median_error(by_mode[mode]):.1%}" for mode in modes), f"{median_error(of_link):.1%}"])
    return table(["median error", *modes, "all"], rows)


def _cells(found: Sequence[Cell]) -> str:
    """A row per link, model and mode: two and three nodes side by side."""
    counts = sorted({cell.nodes for cell in found})
    titles = [f"{n} nodes: {what}" for n in counts for what in ("predicted", "measured", "error")]
    rows = []
    for group in grouped(found, lambda cell: f"{cell.link} {cell.model} {cell.mode}").values():
        first, by_nodes = group[0], {cell.nodes: cell for cell in group}
        row = [first.link, first.model, first.mode, time_words(first.alone_s)]
        for n in counts:
            cell = by_nodes[n]
            row += [time_words(cell.predicted_s), time_words(cell.measured_s), f"{cell.error:+.0%}"]
        rows.append(row)
    return table(["link", "model", "mode", "one node", *titles], rows)


def chart(found: Sequence[Cell]) -> Chart:
    """Predicted against measured; on the grey line they are the same."""
    ends = [min(cell.measured_s for cell in found), max(cell.measured_s for cell in found)]
    series = [Series("equal", tuple((end, end) for end in ends), muted=True)]
    for mode, of_mode in grouped(found, lambda cell: cell.mode).items():
        points = tuple((cell.measured_s, cell.predicted_s) for cell in of_mode)
        notes = tuple(f"{cell.link}, {cell.model}, {cell.nodes} nodes: {cell.error:+.0%}" for cell in of_mode)
        series.append(Series(mode, points, notes=notes))
    return Chart(
        f"Step times, predicted and measured (median error {median_error(found):.1%})",
        "measured (s)",
        "predicted (s)",
        tuple(series),
        x_log=True,
        y_log=True,
        kind=Kind.SCATTER,
    )
