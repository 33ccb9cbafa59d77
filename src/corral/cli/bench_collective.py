"""`corral bench allreduce`, `allgather`, `reducescatter` and `sendrecv`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from corral.cli.job_options import GpusOption, PartitionOption, TimeOption, UserOption, resources
from corral.cli.live import LiveLine, measured
from corral.cli.terminal import ClusterOption, JsonOption, print_json
from corral.errors import InputError
from corral.measure.collective import CollectiveReport, row_of
from corral.measure.records import Record
from corral.measure.words import gbit_s, parse_size, size_text
from corral.workflows.bench import Place, Sizes, bench_collective, bench_nccl_tests

COMMANDS = {
    "allreduce": "Time all-reduce over all nodes, tuned and untuned, beside what TCP alone carries.",
    "allgather": "Time all-gather, in the same way.",
    "reducescatter": "Time reduce-scatter, in the same way.",
    "sendrecv": "Time sending to the next rank while receiving from the one before.",
}
_DTYPES = ("float", "double", "half", "bfloat16", "int32", "int64")

NodesOption = Annotated[
    int | None, typer.Option("--nodes", "-N", min=1, help="How many nodes.", show_default="all that can run jobs")
]
EnvOption = Annotated[
    str, typer.Option(help="The environment that has torch: virtual, conda or a container.", show_default=False)
]
PlotOption = Annotated[bool, typer.Option("--plot", help="Draw a plot here.")]
HtmlOption = Annotated[
    Path | None, typer.Option("--html", help="Write a page with plots and tables.", show_default=False)
]


def collective(
    context: typer.Context,
    nodes: NodesOption = None,
    min_bytes: Annotated[str, typer.Option("--min-bytes", "-b", help="The smallest size.")] = "8",
    max_bytes: Annotated[
        str | None, typer.Option("--max-bytes", "-e", help="The largest.", show_default="64M, less on slow links")
    ] = None,
    factor: Annotated[float, typer.Option("--factor", "-f", help="From one size to the next.")] = 2.0,
    iterations: Annotated[
        int | None, typer.Option("--iterations", "-n", min=1, help="Runs of each size.", show_default="up to 20")
    ] = None,
    warmup: Annotated[
        int | None, typer.Option("--warmup", "-w", min=0, help="Runs before them.", show_default="up to 5")
    ] = None,
    dtype: Annotated[str, typer.Option("--dtype", "-d", help=f"Of {', '.join(_DTYPES)}.")] = "float",
    backend: Annotated[str, typer.Option(help="nccl or gloo.", show_default="nccl with CUDA, else gloo")] = "",
    here: Annotated[bool, typer.Option("--here", help="On this machine, without Slurm.")] = False,
    ranks: Annotated[
        int | None, typer.Option(min=1, help="With --here: processes.", show_default="one per GPU, or one")
    ] = None,
    nccl_tests: Annotated[
        str, typer.Option(metavar="PATH", help="Run NVIDIA's nccl-tests of that path on the nodes.", show_default=False)
    ] = "",
    mpi: Annotated[
        str, typer.Option(help="With --nccl-tests: of srun --mpi=list.", show_default="Slurm's default")
    ] = "",
    plot: PlotOption = False,
    html: HtmlOption = None,
    as_json: JsonOption = False,
    gpus: GpusOption = None,
    time: TimeOption = None,
    partition: PartitionOption = "",
    env: EnvOption = "",
    user: UserOption = None,
    cluster: ClusterOption = None,
) -> None:
    """Time a collective."""
    name = context.info_name or ""
    _one_of("--dtype", dtype, _DTYPES)
    _one_of("--backend", backend, ("", "nccl", "gloo"))
    if ranks and not here:
        raise InputError("--ranks is for --here; on a cluster there is one process per GPU. Try: --gpus")
    sizes = Sizes(
        parse_size(min_bytes, "--min-bytes"),
        None if max_bytes is None else parse_size(max_bytes, "--max-bytes"),
        factor, iterations, warmup, dtype, backend,
    )  # fmt: skip
    place = Place(
        cluster, user, nodes, resources(1, gpus, None, None, time, partition, "", ""), env, here, ranks or 0
    )  # fmt: skip
    writable(html)
    live = LiveLine(quiet=as_json)
    if nccl_tests:
        if here or backend:
            raise InputError("--nccl-tests runs on the cluster and has its own NCCL: leave --here and --backend out")
        work = bench_nccl_tests(name, nccl_tests, mpi, sizes, place, live.say, lambda line: live.show(line.strip()))
    else:
        work = bench_collective(name, sizes, place, live.say, Progress(name, live).take)
    report = measured(work, live)
    show(report, as_json=as_json, plot=plot, html=html)


class Progress:
    """What the latest record says about how far it is."""

    def __init__(self, collective: str, live: LiveLine) -> None:
        self._collective, self._live = collective, live
        self._ranks = 1

    def take(self, record: Record) -> None:
        if record["kind"] == "setup":
            self._ranks = int(record["ranks"])
            self._live.show(f"{self._collective}: {self._ranks} ranks on {', '.join(record['hosts'])}")
        elif record["kind"] == "tcp":
            rates = [link["ring_bit_s"] for link in record["links"] if link["ring_bit_s"]]
            if rates:
                self._live.show(f"raw TCP while all send: {gbit_s(min(rates))}")
        elif record["kind"] == "row":
            row = row_of(record, self._collective, self._ranks)
            self._live.show(f"{size_text(row.size_bytes)} {record['variant']}: {gbit_s(row.busbw_bit_s)}")


def show(report: CollectiveReport, *, as_json: bool, plot: bool, html: Path | None) -> None:
    """The report, in every form that was asked for; wrong values are a failure."""
    from corral.measure import collective_page

    if html is not None:
        write(html, collective_page.html(report))
    if as_json:
        print_json(report.to_json())
    else:
        from corral.cli.bench_view import report_lines
        from corral.cli.columns import terminal_width

        width = terminal_width()
        sys.stdout.write("\n".join(report_lines(report, width=width, color=width is not None)) + "\n")
        if plot:
            draw_chart(collective_page.chart(report))
    if report.wrong:
        raise typer.Exit(1)


def draw_chart(chart: object) -> None:
    """A chart in the terminal's colours."""
    from corral.cli.sweep_view import chart_view
    from corral.cli.terminal import console
    from corral.plots.chart import Chart

    assert isinstance(chart, Chart)
    console.print()
    console.print(chart_view(chart, min(console.width, 100)))


def writable(path: Path | None) -> None:
    """Better known before everything is measured."""
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        raise InputError(f"--html {path}: that is no file in a folder that there is")


def write(path: Path, text: str) -> None:
    """A page; where it cannot be written, that is the answer."""
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as problem:
        raise InputError(f"{path} cannot be written: {problem.strerror}") from problem


def _one_of(option: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(f"{option} {value}: there are {', '.join(name for name in allowed if name)}")
