"""`corral bench`: how fast the cluster is."""

from __future__ import annotations

import typer

from corral.cli.bench_collective import COMMANDS, collective
from corral.cli.bench_ddp import ddp
from corral.cli.bench_storage import storage

app = typer.Typer(no_args_is_help=True, help="How fast the cluster is, beside what its machines and links could do.")
for _name, _help in COMMANDS.items():
    app.command(_name, help=_help)(collective)
app.command("ddp")(ddp)
app.command("storage")(storage)
