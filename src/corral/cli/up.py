"""`corral up`."""

from __future__ import annotations

import json
import time
from typing import Annotated

import typer
from rich.markup import escape

from corral.cli.check_view import show_quick
from corral.cli.findings import show_findings
from corral.cli.operator import AcceptOption, operator
from corral.cli.progress import JsonWatch, watching
from corral.cli.terminal import ClusterOption, JsonOption, console, run
from corral.errors import InputError
from corral.spec.local import local_cluster
from corral.spec.model import ClusterSpec
from corral.workflows.state import find_cluster
from corral.workflows.up import UpReport, up_cluster


def up(
    cluster: ClusterOption = None,
    local: Annotated[
        int | None,
        typer.Option("--local", min=1, max=200, metavar="N", help="Make N machines on this computer."),
    ] = None,
    name: Annotated[str, typer.Option(help="With --local: the cluster's name.")] = "local",
    release: Annotated[
        str, typer.Option(help="With --local: the Debian release: bookworm, trixie or forky.")
    ] = "trixie",
    gpus: Annotated[int, typer.Option(help="With --local: simulated GPUs per machine.")] = 1,
    gpu_type: Annotated[str, typer.Option(help="With --local: the simulated GPUs' type.")] = "rtx5090",
    link: Annotated[str | None, typer.Option(help="With --local: each machine's link, such as 2.5gbit.")] = None,
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="Bring Slurm to the version that the distribution offers.")
    ] = False,
    accept_new_host_keys: AcceptOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make the cluster what its file says. Safe to repeat, safe to interrupt."""
    began = time.monotonic()
    if local is None:
        spec = find_cluster(cluster)
    elif cluster is None:
        spec = local_cluster(name, local, {"release": release, "gpus": gpus, "gpu_type": gpu_type, "link": link})
    else:
        raise InputError("--local makes a cluster of its own: leave out --cluster, or name it with --name")
    with watching("bringing up", instead=JsonWatch() if as_json else None) as watch:
        person = operator(watch.paused, accept_new_host_keys=accept_new_host_keys)
        report = run(up_cluster(spec, watch.emit, watch.say, person, keep_file=local is not None, upgrade=upgrade))
    if as_json:
        typer.echo(json.dumps({"report": report.to_json()}))
    else:
        show_report(spec, report, time.monotonic() - began)
    if not report.ok:
        raise typer.Exit(1)


def show_report(spec: ClusterSpec, report: UpReport, seconds: float) -> None:
    """How an `up` ended, for people."""
    for outcome in report.undone:
        if outcome.result != "blocked":
            console.print(f"  [red]✗[/] {outcome.host}  {outcome.step}: {escape(outcome.text)}", soft_wrap=True)
    for name, why in report.missing.items():
        console.print(f"  [red]✗[/] {name}  {escape(why)}", soft_wrap=True)
    show_findings(report.findings)
    for notice in report.notices:
        console.print(f"  [yellow]![/] {escape(notice)}", soft_wrap=True)
    machines = f"{len(spec.machines)} machine{'s' if len(spec.machines) > 1 else ''}"
    what = f"{report.changed} changes" if report.changed else "nothing to do"
    if not report.complete:
        blocked = sum(outcome.result == "blocked" for outcome in report.undone)
        console.print(
            f"[bold red]{spec.name} is not complete[/]: {what}, {len(report.undone) - blocked} failed, "
            f"{blocked} not tried, in {seconds:.1f} s. Mend the cause, then run the same command again."
        )
        return
    if report.check is not None:
        show_quick(report.check)
    if not report.ok:
        console.print(f"[bold red]{spec.name} is up, and does not work[/]: {machines}, {what}, {seconds:.1f} s.")
        return
    console.print(f"[bold green]{spec.name} is up[/]: {machines}, {what}, {seconds:.1f} s.")
    count = len(spec.compute_machines)
    # A job needs somebody whose it is, and a folder that every machine sees.
    first = (
        f"corral run --nodes {count}" if spec.users and spec.jobs_folder else f"corral ssh {spec.head} srun -N{count}"
    )
    console.print(f"Try: [bold]corral status[/], or [bold]{first} hostname[/]")
