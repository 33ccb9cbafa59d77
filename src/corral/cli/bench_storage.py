"""`corral bench storage`."""

from __future__ import annotations

from typing import Annotated

import typer

from corral.cli.bench_collective import HtmlOption, NodesOption, PlotOption, draw_chart, writable, write
from corral.cli.columns import columns, terminal_width
from corral.cli.job_options import PartitionOption, TimeOption, UserOption, resources
from corral.cli.live import LiveLine, measured
from corral.cli.terminal import ClusterOption, JsonOption, print_json
from corral.measure import storage as report_of_storage
from corral.measure.records import Record
from corral.measure.storage import StorageReport
from corral.measure.words import parse_size
from corral.workflows.bench import Place
from corral.workflows.bench_storage import bench_storage


def storage(
    folder: Annotated[str, typer.Option(help="A folder that all nodes see.", show_default="your jobs' own")] = "",
    size: Annotated[str, typer.Option(help="Of the large file of each node.")] = "256M",
    files: Annotated[int, typer.Option(min=1, help="Small files of each node.")] = 500,
    nodes: NodesOption = None,
    plot: PlotOption = False,
    html: HtmlOption = None,
    as_json: JsonOption = False,
    time: TimeOption = None,
    partition: PartitionOption = "",
    user: UserOption = None,
    cluster: ClusterOption = None,
) -> None:
    """Time the shared folder: large and small files, one node at a time and all at once."""
    wanted = resources(1, "0", None, None, time, partition, "", "")
    place = Place(cluster, user, nodes, wanted)
    writable(html)
    live = LiveLine(quiet=as_json)
    work = bench_storage(folder, parse_size(size, "--size"), files, place, live.say, lambda one: _progress(one, live))
    report = measured(work, live)
    if html is not None:
        write(html, report_of_storage.html(report))
    if as_json:
        print_json(report.to_json())
        return
    for line in _lines(report):
        typer.echo(line)
    if plot:
        for chart in report_of_storage.charts(report):
            draw_chart(chart)


def _progress(record: Record, live: LiveLine) -> None:
    if record["kind"] == "setup":
        live.show(f"{', '.join(record['nodes'])}: one node at a time, then all at once")
    else:
        live.show(f"{record['node']} {record['how']}: {record['what']} in {record['seconds']:.1f} s")


def _lines(report: StorageReport) -> list[str]:
    titles = report_of_storage.TITLES
    sections = {"one node at a time": report.alone, "all at once": (*report.together, report.total)}
    lines = [typer.style(report_of_storage.title(report), bold=True)]
    for name, figures in sections.items():
        rows = [list(report_of_storage.UNITS), *(report_of_storage.cells(one) for one in figures)]
        heads, *aligned = _numbers_right([list(titles), *rows])
        lines += ["", typer.style(name, bold=True), *columns(heads, aligned, width=terminal_width())]
    return [*lines, "", typer.style(report_of_storage.headline(report), bold=True)]


def _numbers_right(rows: list[list[str]]) -> list[list[str]]:
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [[row[0], *(cell.rjust(room) for cell, room in zip(row[1:], wide[1:], strict=True))] for row in rows]
