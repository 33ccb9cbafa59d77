"""`corral check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corral.cli.check_view import CheckWatch, show_plots, show_report
from corral.cli.operator import AcceptOption, operator
from corral.cli.progress import SilentWatch
from corral.cli.terminal import ClusterOption, JsonOption, print_json, run
from corral.errors import InputError
from corral.workflows.check import Wanted, check_cluster
from corral.workflows.state import find_cluster


def check(
    cluster: ClusterOption = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="RUNG", help="Only these rungs, with commas or repeated.")
    ] = None,
    nodes: Annotated[
        list[str] | None, typer.Option("--nodes", metavar="A,B", help="Only these nodes, with commas or repeated.")
    ] = None,
    drain: Annotated[
        bool, typer.Option("--drain", help="Take nodes that are to blame out of service, with the reason.")
    ] = False,
    env: Annotated[
        str | None, typer.Option("--env", help="Environment with torch that all nodes see.", show_default=False)
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with plots.", show_default=False)] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw plots here.")] = False,
    accept_new_host_keys: AcceptOption = False,
    as_json: JsonOption = False,
) -> None:
    """Prove that the cluster does what a cluster is for. Exits 0 healthy, 1 with findings, 2 if it could not run."""
    spec = find_cluster(cluster)
    wanted = Wanted(_listed(only), _listed(nodes), env, drain)
    with CheckWatch(silent=as_json) as watch:
        person = operator(watch.paused, accept_new_host_keys=accept_new_host_keys)
        report = run(check_cluster(spec, wanted, SilentWatch().emit, watch.on_rung, person))
    if html is not None:
        from corral.checks.ladder.page import check_page

        _write(html, check_page(report.cluster, report.results))
    if as_json:
        print_json(report.to_json())
    else:
        show_report(report)
        if plot:
            show_plots(report)
    if not report.ok:
        raise typer.Exit(1)


def _listed(values: list[str] | None) -> tuple[str, ...]:
    return tuple(name for value in values or () for name in value.split(",") if name)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise InputError(f"{path} cannot be written: {problem.strerror}") from problem
