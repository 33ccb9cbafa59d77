"""`corral down`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.markup import escape

from corral.cli.operator import operator
from corral.cli.progress import SilentWatch, watching
from corral.cli.terminal import ClusterOption, JsonOption, console, print_json, run
from corral.errors import InputError
from corral.spec.model import ClusterSpec
from corral.workflows.down import DownReport, down_cluster
from corral.workflows.state import find_cluster


def down(
    cluster: ClusterOption = None,
    purge: Annotated[
        bool, typer.Option("--purge", help="Also remove all that Corral brought: packages, files, accounting.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --purge: do not ask.")] = False,
    as_json: JsonOption = False,
) -> None:
    """End the cluster: local machines vanish with all they hold, real ones stop and keep their data."""
    spec = find_cluster(cluster)
    if purge and not yes and spec.local is None:
        _confirm(spec)
    with watching("taking down", instead=SilentWatch() if as_json else None) as watch:
        report = run(down_cluster(spec, watch.emit, operator(watch.paused), purge=purge))
    if as_json:
        print_json(report.to_json())
    else:
        show(spec, report)
    if report.missing:
        raise typer.Exit(1)


def _confirm(spec: ClusterSpec) -> None:
    if not sys.stdin.isatty():
        raise InputError("--purge deletes the accounting history and all configuration: add --yes to mean it")
    machines = ", ".join(spec.machines)
    console.print(
        f"This cancels all jobs of [bold]{spec.name}[/] and removes Slurm, its accounting history and its "
        f"configuration from {machines}. Homes and shared data stay.",
        soft_wrap=True,
    )
    if typer.prompt("Type the cluster's name to go on") != spec.name:
        raise InputError("that is not the cluster's name; nothing was changed")


def show(spec: ClusterSpec, report: DownReport) -> None:
    """Say what ended and what is left, in words for people."""
    if spec.local is not None:
        console.print(f"[bold]{spec.name} is gone[/]: {len(report.stopped)} machine(s), nothing left behind.")
    elif report.purged:
        console.print(f"[bold]{spec.name} is gone[/] from {', '.join(report.purged)}. Left on the machines:")
        for line in report.kept:
            console.print(f"  {escape(line)}", soft_wrap=True)
    else:
        console.print(f"[bold]{spec.name} is down[/]: stopped and disabled {', '.join(report.stopped)}.")
        console.print(f"Kept on the machines: {', '.join(report.kept)}. `corral up` brings everything back.")
        for line in report.shared:
            console.print(f"  {escape(line)}", soft_wrap=True)
        if report.shared:
            console.print("`corral down --purge` takes these away, and never the data.")
    for name, why in report.missing.items():
        console.print(f"  [red]✗[/] {name}  not reachable, left as it is: {escape(why)}")
