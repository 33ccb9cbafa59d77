"""`corral doctor`."""

from __future__ import annotations

import typer

from corral.cli.findings import show_findings
from corral.cli.operator import AcceptOption, operator
from corral.cli.progress import SilentWatch, watching
from corral.cli.terminal import ClusterOption, JsonOption, console, print_json, run
from corral.workflows.doctor import examine
from corral.workflows.state import find_cluster


def doctor(
    cluster: ClusterOption = None, accept_new_host_keys: AcceptOption = False, as_json: JsonOption = False
) -> None:
    """What is wrong with the machines, and how to mend it; nothing is changed."""
    spec = find_cluster(cluster)
    with watching("looking", instead=SilentWatch() if as_json else None) as watch:
        person = operator(watch.paused, accept_new_host_keys=accept_new_host_keys)
        report = run(examine(spec, watch.emit, person))
    if as_json:
        print_json(report.to_json())
    else:
        show_findings(report.findings)
        if not report.findings:
            console.print(f"[green]✓[/] nothing is wrong with the {len(spec.machines)} machines of {spec.name}")
    if not report.ok:
        raise typer.Exit(1)
