"""`corral advise`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corral.advice.case import Case
from corral.advice.inputs import GPUS, Given
from corral.advice.models import MODELS
from corral.advice.report import html, sources, table, to_json
from corral.advice.words import Recommendation, recommend
from corral.cli.bench_collective import Progress
from corral.cli.columns import columns, terminal_width
from corral.cli.job_options import EnvOption, UserOption
from corral.cli.live import LiveLine, measured
from corral.cli.terminal import ClusterOption, JsonOption, print_json
from corral.errors import InputError
from corral.jobs.request import Resources
from corral.workflows.advise import Question, answer
from corral.workflows.bench import Place


def advise(
    link: Annotated[
        str | None, typer.Option(help="Such as 2.5gbit, instead of measuring the cluster's.", show_default=False)
    ] = None,
    step_ms: Annotated[
        float | None, typer.Option(min=0.001, help="How long a step takes on one node alone.", show_default=False)
    ] = None,
    params: Annotated[str | None, typer.Option(help="The model's parameters: 124m, 1.3b.", show_default=False)] = None,
    model: Annotated[str | None, typer.Option(help=f"One of {', '.join(MODELS)}.", show_default=False)] = None,
    gpu: Annotated[
        str | None, typer.Option(help=f"Its step time as measured on {', '.join(GPUS)}.", show_default=False)
    ] = None,
    saved: Annotated[
        list[Path] | None,
        typer.Option(
            "--from", help="What `corral bench allreduce|ddp --json` printed. Repeatable.", show_default=False
        ),
    ] = None,
    nodes: Annotated[
        int | None, typer.Option(min=2, max=1024, help="How many at most.", show_default="as measured, or 3")
    ] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Samples per node and step.", show_default=False)] = None,
    target: Annotated[int, typer.Option(min=1, max=99, help="Efficiency in % from which nodes pay.")] = 80,
    plot: Annotated[bool, typer.Option("--plot", help="Draw plots here.")] = False,
    html_file: Annotated[Path | None, typer.Option("--html", help="Write a page with plots and the table.")] = None,
    as_json: JsonOption = False,
    env: EnvOption = "",
    user: UserOption = None,
    cluster: ClusterOption = None,
) -> None:
    """Whether training on several nodes pays, from measured or given link and step time; and how to make it pay."""
    question = Question(
        Given(step_ms, params, model, gpu, batch),
        target / 100,
        Place(cluster, user, nodes, Resources(), env),
        link,
        tuple(saved or ()),
        nodes,
    )
    live = LiveLine(quiet=as_json)
    case = measured(answer(question, live.say, Progress("allreduce", live).take), live)
    found = recommend(case)
    if html_file is not None:
        _write(html_file, html(case, found))
    if as_json:
        print_json(to_json(case, found))
        return
    _show(case, found)
    if plot:
        _plot(case)


def _show(case: Case, found: Recommendation) -> None:
    first, *others = found.words
    typer.secho(first, bold=True)
    for line in others:
        typer.echo(line)
    shown = table(case)
    width = terminal_width()
    typer.echo()
    for line in columns([title.upper() for title in shown.columns], shown.rows, width=width, gives_way=("MODE",)):
        typer.echo(line)
    typer.echo()
    for line in sources(case):
        typer.secho(line, dim=True)


def _plot(case: Case) -> None:
    from corral.advice.figures import charts
    from corral.cli.sweep_view import chart_view
    from corral.cli.terminal import console

    for chart in charts(case):
        console.print()
        console.print(chart_view(chart, min(console.width, 100)))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise InputError(f"{path} cannot be written: {problem.strerror}") from problem
