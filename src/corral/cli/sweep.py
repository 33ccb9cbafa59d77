"""`corral sweep`: start one, look at it, go on with it, compare its results."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from corral.cli.job_options import (
    AccountOption,
    CpusOption,
    DdpOption,
    EnvOption,
    GpusOption,
    MemOption,
    NameOption,
    NodesOption,
    NoFolderOption,
    PartitionOption,
    QosOption,
    TimeOption,
    UserOption,
    resources,
)
from corral.cli.terminal import ClusterOption, JsonOption, print_json, run
from corral.errors import InputError
from corral.jobs.submit import Sent, send
from corral.jobs.sweep.declare import declaration
from corral.jobs.sweep.results import Objective, TrialResult, check_metric, parse_objective
from corral.jobs.sweep.space import Space, space
from corral.jobs.sweep.table import result_table, to_csv, to_json
from corral.jobs.sweep.trials import SweepStatus
from corral.workflows import sweep as workflow
from corral.workflows.desk import open_desk
from corral.workflows.run import Ask, default_folder
from corral.workflows.sweep import Sweep


class _StartsByDefault(TyperGroup):
    """What is no command of ours is the command to sweep over: `corral sweep --grid lr=1,2 train.py`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["start", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_StartsByDefault,
    no_args_is_help=True,
    help="Run a command once for each of many settings, and compare what came of it.",
)
WhichArgument = Annotated[
    str | None, typer.Argument(metavar="[SWEEP]", help="Its job number; without it, your latest.", show_default=False)
]


@app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def start(
    command: Annotated[list[str], typer.Argument(help="A Python file or a command, and its arguments.")],
    grid: Annotated[list[str] | None, typer.Option(help="lr=1e-3,1e-4 or seed=0..9: every combination.")] = None,
    random: Annotated[list[str] | None, typer.Option(help="lr=log:1e-5..1e-1, layers=int:2..8, act=relu,gelu.")] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="How many random trials.", show_default=False)] = None,
    seed: Annotated[int | None, typer.Option(help="Of the random trials.", show_default="0")] = None,
    list_file: Annotated[Path | None, typer.Option("--list", help="A file with one trial per line.")] = None,
    file: Annotated[Path | None, typer.Option(help="A YAML file that declares the sweep.")] = None,
    at_most: Annotated[int | None, typer.Option(min=1, help="Trials at a time.", show_default="as many as fit")] = None,
    nodes: NodesOption = 1,
    gpus: GpusOption = None,
    cpus: CpusOption = None,
    mem: MemOption = None,
    time: TimeOption = None,
    partition: PartitionOption = "",
    qos: QosOption = "",
    account: AccountOption = "",
    name: NameOption = "",
    env: EnvOption = "",
    ddp: DdpOption = False,
    no_folder: NoFolderOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the trials and the batch script.")] = False,
    user: UserOption = None,
    cluster: ClusterOption = None,
) -> None:
    """Send a sweep (the word `start` may be left out)."""
    declared = declaration(
        grid=grid or (), random=random or (), trials=trials, seed=seed, list_file=list_file, file=file
    )
    found = space(declared)
    wanted = Ask(
        command=tuple(command),
        resources=resources(nodes, gpus, cpus, mem, time, partition, qos, account),
        environment=env,
        name=name,
        ddp=ddp,
        folder=None if no_folder else default_folder(command),
    )
    for notice in found.notices:
        typer.echo(f"{typer.style('!', fg='yellow')} {notice}", err=True)
    run(_start(wanted, found, at_most, cluster, user, dry_run=dry_run))


@app.command()
def status(
    which: WhichArgument = None, as_json: JsonOption = False, user: UserOption = None, cluster: ClusterOption = None
) -> None:
    """What became of its trials."""
    sweep, found = run(_status(which, cluster, user))
    if as_json:
        counts = {state.value: count for state, count in found.counts.items()}
        states = [{"trial": one.index, "state": one.state.value, "why": one.why} for one in found.trials]
        print_json({"sweep": sweep.folder.token, "name": sweep.name, "counts": counts, "trials": states})
    else:
        # Tables and plots take longer to load than a sweep takes to send: only who looks at some waits for them.
        from corral.cli.sweep_view import SweepView, status_view
        from corral.cli.terminal import console

        console.print(status_view(SweepView(sweep.folder.token, sweep.name, sweep.trials, found)))


@app.command()
def results(
    which: WhichArgument = None,
    best: Annotated[str | None, typer.Option(help="min:loss or max:accuracy.", show_default="by the names")] = None,
    csv: Annotated[Path | None, typer.Option(help="Write all of it to a file.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with plots and the table.")] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw plots here.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Every trial, not only the best 20.")] = False,
    as_json: JsonOption = False,
    user: UserOption = None,
    cluster: ClusterOption = None,
) -> None:
    """What its trials measured, the best first."""
    wanted = parse_objective(best) if best else None
    sweep, rows, objective = run(_results(which, wanted, cluster, user))
    if wanted is not None:
        check_metric(wanted, rows)
    if csv is not None:
        _write(csv, to_csv(result_table(rows)))
    if html is not None:
        from corral.jobs.sweep.report import results_page

        _write(html, results_page(sweep.name, rows, objective))
    if as_json:
        print_json(to_json(result_table(rows)))
        return
    from corral.cli.sweep_view import plots_view, results_view
    from corral.cli.terminal import console

    console.print(results_view(rows, objective, len(rows) if every else 20))
    if plot:
        console.print(plots_view(rows, objective, min(console.width, 100)))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as problem:
        raise InputError(f"{path} cannot be written: {problem.strerror}") from problem


@app.command()
def resume(
    which: WhichArgument = None,
    failed: Annotated[bool, typer.Option("--failed", help="Also what failed.")] = False,
    user: UserOption = None,
    cluster: ClusterOption = None,
) -> None:
    """Send again what was lost or cancelled."""
    again = run(_resume(which, failed, cluster, user))
    typer.echo(
        f"{len(again)} trials are sent again" if again else "nothing to send again: every trial runs or has ended"
    )


@app.command()
def cancel(which: WhichArgument = None, user: UserOption = None, cluster: ClusterOption = None) -> None:
    """End everything of it that waits or runs. `resume` takes it up again."""
    typer.echo(f"{run(_cancel(which, cluster, user))} trials are cancelled")


async def _start(
    wanted: Ask, found: Space, at_most: int | None, cluster: str | None, user: str | None, *, dry_run: bool
) -> None:
    async with open_desk(cluster, user) as desk:
        prepared = await workflow.prepare_sweep(desk, wanted, found.trials, at_most)
        if dry_run:
            sys.stdout.write(prepared.files["trials.args"].decode() + "\n" + prepared.description.script)
            return
        _announce(await send(desk, prepared), len(found.trials))


def _announce(sent: Sent, trials: int) -> None:
    if sent.job_id is None:
        away = typer.style("Slurm's controller is away:", fg="yellow")
        typer.echo(f"{away} the sweep is written down and will be sent when it is back", err=True)
    else:
        typer.echo(f"sweep {typer.style(sent.job_id, bold=True)}: {trials} trials")
    typer.secho("Try: corral sweep status, corral sweep results", dim=True)


async def _status(which: str | None, cluster: str | None, user: str | None) -> tuple[Sweep, SweepStatus]:
    async with open_desk(cluster, user) as desk:
        sweep = await workflow.find_sweep(desk, which)
        return sweep, await workflow.status_of(desk, sweep)


async def _results(
    which: str | None, wanted: Objective | None, cluster: str | None, user: str | None
) -> tuple[Sweep, list[TrialResult], Objective | None]:
    async with open_desk(cluster, user) as desk:
        sweep = await workflow.find_sweep(desk, which)
        return sweep, *await workflow.results_of(desk, sweep, wanted)


async def _resume(which: str | None, failed: bool, cluster: str | None, user: str | None) -> tuple[int, ...]:
    async with open_desk(cluster, user) as desk:
        return await workflow.resume(desk, await workflow.find_sweep(desk, which), failed=failed)


async def _cancel(which: str | None, cluster: str | None, user: str | None) -> int:
    async with open_desk(cluster, user) as desk:
        return await workflow.cancel(desk, await workflow.find_sweep(desk, which))
