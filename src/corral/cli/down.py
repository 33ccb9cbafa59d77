"""`corral down`."""

from __future__ import annotations

import typer

from corral.cli.operator import operator
from corral.cli.progress import SilentWatch, watching
from corral.cli.terminal import ClusterOption, JsonOption, console, print_json, run
from corral.workflows.down import down_cluster
from corral.workflows.state import find_cluster


def down(cluster: ClusterOption = None, as_json: JsonOption = False) -> None:
    """End the cluster: local machines vanish with all they hold, real ones stop and keep their data."""
    spec = find_cluster(cluster)
    with watching("taking down", instead=SilentWatch() if as_json else None) as watch:
        report = run(down_cluster(spec, watch.emit, operator(watch.paused)))
    if as_json:
        print_json(report.to_json())
    elif spec.local is not None:
        console.print(f"[bold]{spec.name} is gone[/]: {len(report.stopped)} machines, nothing left behind.")
    else:
        console.print(f"[bold]{spec.name} is down[/]: stopped and disabled {', '.join(report.stopped)}.")
        console.print(f"Kept on the machines: {', '.join(report.kept)}. `corral up` brings everything back.")
    for name, why in report.missing.items():
        console.print(f"  [red]✗[/] {name}  not reachable, left as it is: {why}")
    if report.missing:
        raise typer.Exit(1)
