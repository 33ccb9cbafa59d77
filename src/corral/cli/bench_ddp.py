"""`corral bench ddp`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corral.cli.bench_collective import EnvOption, HtmlOption, PlotOption, draw_chart, write
from corral.cli.job_options import GpusOption, PartitionOption, TimeOption, UserOption, resources
from corral.cli.live import LiveLine, measured
from corral.cli.terminal import ClusterOption, JsonOption, print_json
from corral.errors import InputError
from corral.gauges.sizes import MODELS, MODES
from corral.measure import scaling_view
from corral.measure.scaling import Scaling
from corral.measure.training import Script, Training
from corral.workflows.bench_ddp import Place, counts_of, measure_training


def ddp(
    arguments: Annotated[list[str] | None, typer.Argument(help="After --: the script's arguments.")] = None,
    models: Annotated[
        str, typer.Option(help=f"Of {', '.join(MODELS)}.", show_default="gpt2-124m, on CPUs gpt-4m")
    ] = "",
    modes: Annotated[str, typer.Option(help="Ways to synchronise.")] = ",".join(MODES),
    script: Annotated[Path | None, typer.Option(help="Your own script instead, in this folder.")] = None,
    nodes: Annotated[
        str,
        typer.Option(
            "--nodes",
            "-N",
            help="3 is one to three; 1,3 just these. With --here: processes.",
            show_default="one to all",
        ),
    ] = "",
    compute_ms: Annotated[
        float | None,
        typer.Option(min=1, help="A stated compute time per step instead of a real one.", show_default=False),
    ] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Samples per process and step.", show_default=False)] = None,
    sequence: Annotated[int | None, typer.Option(min=1, help="Words per sample of a GPT.", show_default=False)] = None,
    precision: Annotated[str, typer.Option(help="fp32, or bf16 by autocast.")] = "fp32",
    compiled: Annotated[bool, typer.Option("--compile", help="Compile the model with torch.compile.")] = False,
    accumulate: Annotated[
        int | None, typer.Option(min=1, help="Steps whose gradients are added up.", show_default="1")
    ] = None,
    every: Annotated[int | None, typer.Option(min=2, help="Steps of a round of local.", show_default="50")] = None,
    fragments: Annotated[int | None, typer.Option(min=1, help="Parts that local sends.", show_default="4")] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0.1, help="How long to time each row.", show_default="6, of a script 20")
    ] = None,
    here: Annotated[bool, typer.Option("--here", help="On this machine, without Slurm.")] = False,
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
    """Steps per second and scaling efficiency of training on 1 to N nodes, for each way to synchronise."""
    what: Training | Script
    if script is not None:
        if models or modes != ",".join(MODES) or accumulate:
            raise InputError(
                "--script: a script has its own model, mode and steps; leave --models, --modes and --accumulate out"
            )
        what = _script(script, arguments or [], every, seconds)
    else:
        if arguments:
            raise InputError(f"'{arguments[0]}': only a script has arguments. Try: --script FILE -- {arguments[0]}")
        what = Training(
            _names(models), _names(modes), (), batch, sequence, precision, compute_ms, compiled, accumulate, every,
            fragments, seconds,
        )  # fmt: skip
    place = Place(
        cluster, user, resources(1, gpus, None, None, time, partition, "", ""), env, counts_of(nodes), here
    )  # fmt: skip
    live = LiveLine(quiet=as_json)
    report = measured(measure_training(what, place, live.say, lambda row: live.say(scaling_view.line(row))), live)
    _show(report, as_json=as_json, plot=plot, html=html)


def _script(path: Path, arguments: list[str], every: int | None, seconds: float | None) -> Script:
    folder = Path.cwd()
    if not path.is_file():
        raise InputError(f"--script {path}: there is no such file")
    if not path.resolve().is_relative_to(folder):
        raise InputError(f"--script {path}: it is outside of {folder}, which is what the job gets")
    return Script((str(path.resolve().relative_to(folder)), *arguments), folder, every, seconds)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _show(report: Scaling, *, as_json: bool, plot: bool, html: Path | None) -> None:
    if html is not None:
        write(html, scaling_view.html(report))
    if as_json:
        print_json(report.to_json())
        return
    # Loaded by those who look: the measurement itself starts faster.
    from corral.cli.columns import columns, terminal_width

    for model in report.models:
        typer.echo(f"\n{typer.style(model.name, bold=True)}: {scaling_view.about(report, model)}")
        if shares := scaling_view.shares(report, model):
            typer.echo(shares)
        table = scaling_view.table(report, model)
        for line in columns(table.columns, table.rows, width=terminal_width(), gives_way=["EXTREMES"]):
            typer.echo(line)
        for chart in scaling_view.charts(report, model) if plot else ():
            draw_chart(chart)
    for warning in scaling_view.warnings(report):
        typer.echo(f"{typer.style('!', fg='yellow')} {warning}")
