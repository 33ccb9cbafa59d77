"""`corral plan`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from corral.cli.findings import show_findings
from corral.cli.operator import AcceptOption, operator
from corral.cli.progress import SilentWatch, watching
from corral.cli.terminal import ClusterOption, JsonOption, console, print_json, run
from corral.workflows.state import find_cluster
from corral.workflows.up import PlanReport, plan_cluster


def plan(
    cluster: ClusterOption = None,
    diff: Annotated[bool, typer.Option("--diff", help="Show what changes inside files.")] = False,
    upgrade: Annotated[bool, typer.Option("--upgrade", help="Show what `up --upgrade` would do.")] = False,
    accept_new_host_keys: AcceptOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show what `up` would change, without changing anything."""
    spec = find_cluster(cluster)
    with watching("looking", instead=SilentWatch() if as_json else None) as watch:
        person = operator(watch.paused, accept_new_host_keys=accept_new_host_keys)
        report = run(plan_cluster(spec, watch.emit, person, upgrade=upgrade))
    if as_json:
        print_json(report.to_json())
    else:
        _show(report, diff=diff, command="corral up --upgrade" if upgrade else "corral up")
    if report.missing or any(finding.severity == "error" for finding in report.findings):
        raise typer.Exit(1)


def _show(report: PlanReport, *, diff: bool, command: str) -> None:
    for planned in report.changes:
        if planned.change is None:
            console.print(
                f"  [yellow]?[/] {planned.host}  [dim]{escape(planned.step)}: depends on {escape(planned.waits_for)}[/]"
            )
            continue
        console.print(f"  [cyan]~[/] {planned.host}  {escape(planned.change.summary)}", soft_wrap=True)
        if diff and planned.change.detail:
            for line in planned.change.detail.splitlines():
                style = {"+": "green", "-": "red"}.get(line[:1], "dim")
                console.print(f"      [{style}]{escape(line)}[/]", soft_wrap=True)
    for name, why in report.missing.items():
        console.print(f"  [red]✗[/] {name}  not reachable: {escape(why)}", soft_wrap=True)
    show_findings(report.findings)
    for notice in report.notices:
        console.print(f"  [yellow]![/] {escape(notice)}", soft_wrap=True)
    if any(finding.severity == "error" for finding in report.findings):
        console.print("[red]`corral up` would stop before changing anything:[/] mend the errors above first")
        return
    certain = sum(step.verdict == "change" for step in report.steps)
    unknown = len(report.changes) - certain
    right = len(report.steps) - len(report.changes)
    if report.changes:
        console.print(f"{certain} to change, {unknown} that may follow, {right} already right. Make it so: {command}")
    else:
        console.print(f"[green]nothing to do:[/] all {right} steps of {report.cluster} are already right")
