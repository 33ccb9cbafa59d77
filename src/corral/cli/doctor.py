"""`corral doctor`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from corral.cli.findings import show_findings
from corral.cli.operator import AcceptOption, operator
from corral.cli.progress import SilentWatch, watching
from corral.cli.terminal import ClusterOption, JsonOption, console, print_json, run
from corral.workflows.doctor import DoctorReport, examine, mend
from corral.workflows.state import find_cluster


def doctor(
    machines: Annotated[list[str] | None, typer.Argument(help="Only these machines.", show_default=False)] = None,
    cluster: ClusterOption = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Mend what can be mended without risk to running jobs, then look again.")
    ] = False,
    accept_new_host_keys: AcceptOption = False,
    as_json: JsonOption = False,
) -> None:
    """What is wrong with the cluster, in plain words, and how to mend it. Exits 1 when something is."""
    spec = find_cluster(cluster)
    work = mend if fix else examine
    with watching("mending" if fix else "looking", instead=SilentWatch() if as_json else None) as watch:
        person = operator(watch.paused, accept_new_host_keys=accept_new_host_keys)
        report = run(work(spec, watch.emit, machines or (), person))
    if as_json:
        print_json(report.to_json())
    else:
        _show(report)
    if not report.ok:
        raise typer.Exit(1)


def _show(report: DoctorReport) -> None:
    for one in report.mended:
        mark = "[green]✓[/]" if one.ok else "[red]✗[/]"
        text = f": {escape(one.text)}" if one.text else ""
        console.print(f"{mark} {one.where}  {escape(one.summary)}{text}", soft_wrap=True)
    show_findings(report.findings)
    mendable = sum(finding.mend is not None for finding in report.findings)
    if not report.findings:
        console.print(f"[green]✓[/] nothing is wrong with {report.cluster}")
    elif mendable and not report.mended:
        console.print(f"{mendable} of {len(report.findings)} can be mended by: [bold]corral doctor --fix[/]")
