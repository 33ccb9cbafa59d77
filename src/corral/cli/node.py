"""`corral node add|drain|resume|remove`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from corral.cli.operator import AcceptOption, operator
from corral.cli.progress import SilentWatch, watching
from corral.cli.terminal import ClusterOption, JsonOption, console, duration, print_json, run
from corral.cli.up import show_report
from corral.workflows.nodes import NodeReport, drain_node, resume_node
from corral.workflows.resize import ResizeReport, add_node, remove_node
from corral.workflows.state import find_cluster, find_cluster_file

app = typer.Typer(help="Grow, shrink and mend the cluster, one node at a time.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(help="The machine's name in the cluster file.")]


@app.command()
def add(
    name: NameArgument,
    address: Annotated[
        str | None, typer.Argument(help="Where SSH finds it; a local cluster's machines need none.", show_default=False)
    ] = None,
    user: Annotated[str | None, typer.Option(help="The user to log in as.")] = None,
    port: Annotated[int | None, typer.Option(help="The SSH port.")] = None,
    key: Annotated[Path | None, typer.Option(help="The private key to log in with.")] = None,
    accept_new_host_keys: AcceptOption = False,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a machine into the cluster file, comments and layout kept, and bring it up."""
    began = time.monotonic()
    options = {"address": address, "user": user, "port": port, "key": str(key) if key else None}
    keys = {option: value for option, value in options.items() if value is not None}
    with watching("adding", instead=SilentWatch() if as_json else None) as watch:
        person = operator(watch.paused, accept_new_host_keys=accept_new_host_keys)
        report = run(add_node(find_cluster_file(cluster), name, keys, watch.emit, watch.say, person))
    _finish(report, as_json, began)


@app.command()
def remove(
    name: NameArgument,
    now: Annotated[
        bool, typer.Option("--now", help="Send its jobs back to the queue instead of waiting for them.")
    ] = False,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Drain a machine, wait for its jobs, stop its daemons and take it out of file and Slurm; its data stays."""
    began = time.monotonic()
    with watching("removing", instead=SilentWatch() if as_json else None) as watch:
        person = operator(watch.paused)
        file = find_cluster_file(cluster)
        report = run(remove_node(file, name, now=now, emit=watch.emit, progress=watch.say, operator=person))
    if not as_json:
        for job, what in report.jobs.items():
            console.print(f"  job {job}: {what}")
        if report.stopped:
            console.print(f"Stopped and disabled {', '.join(report.stopped)}; data and configuration stay there.")
        if report.left:
            console.print(f"  [yellow]![/] {name} is out of the cluster, and itself left as it is: {report.left}")
    _finish(report, as_json, began)


@app.command()
def drain(
    name: NameArgument,
    reason: Annotated[str, typer.Option(help="Why; everybody sees it.", show_default=False)],
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let nothing new start on a node; what runs there goes on."""
    report = run(drain_node(find_cluster(cluster), name, reason, SilentWatch().emit, operator()))
    if as_json:
        print_json(report.to_json())
        return
    console.print(f"[bold]{name}[/] takes no new jobs ({report.state}): {escape(report.reason)}")
    _show_jobs(report)
    console.print(f"[dim]Back into service: corral node resume {name}[/]")


@app.command()
def resume(name: NameArgument, cluster: ClusterOption = None, as_json: JsonOption = False) -> None:
    """Put a node back into service, whoever took it out."""
    report = run(resume_node(find_cluster(cluster), name, SilentWatch().emit, operator()))
    if as_json:
        print_json(report.to_json())
    elif report.in_service:
        console.print(f"[bold]{name}[/] takes jobs again ({report.state})")
        _show_jobs(report)
    else:
        console.print(f"[bold]{name}[/] is still out of service ({report.state}): {escape(report.reason)}")
        console.print(f"Try: [bold]corral doctor {name}[/]")
    if not report.in_service:
        raise typer.Exit(1)


def _finish(report: ResizeReport, as_json: bool, began: float) -> None:
    if as_json:
        print_json(report.to_json())
    else:
        show_report(report.spec, report.up, time.monotonic() - began)
    if not report.up.ok:
        raise typer.Exit(1)


def _show_jobs(report: NodeReport) -> None:
    for job in report.jobs:
        console.print(
            f"  still running there: job {job.id} ({escape(job.name)}, {job.user}, {duration(job.elapsed_s)})",
            soft_wrap=True,
        )
    if not report.jobs:
        console.print("  nothing runs there")
