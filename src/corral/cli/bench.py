"""`corral bench`: how fast the cluster is."""

from __future__ import annotations

import typer

from corral.cli.bench_ddp import ddp

app = typer.Typer(no_args_is_help=True, help="How fast the cluster is.")
app.command("ddp")(ddp)


@app.callback()
def _group() -> None:
    """A group also while it has one command."""
