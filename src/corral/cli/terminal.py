"""What the commands share: consoles, options, and running a workflow."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from corral.errors import CorralError

if TYPE_CHECKING:
    from rich.console import Console

    console: Console
    errors: Console

T = TypeVar("T")

ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        "-c",
        envvar="CORRAL_CLUSTER",
        help="A cluster file or the name of a local cluster; without it ./cluster.yaml, or the only local one.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of text for people.")]


def __getattr__(name: str) -> Any:
    """The consoles, made when a module first asks for one: commands that print plain text start faster without."""
    if name not in ("console", "errors"):
        raise AttributeError(name)
    from rich.console import Console

    return globals().setdefault(name, Console(stderr=name == "errors", highlight=False))


class Interrupted(CorralError):
    """Ctrl-C: everything that was done stays done, and the same command continues."""

    exit_code = 130


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a workflow to its end, or say what an interruption means."""
    try:
        return asyncio.run(work)
    except KeyboardInterrupt as stop:
        raise Interrupted("interrupted; the same command continues where this one stopped") from stop


def print_json(data: object) -> None:
    """One JSON document on stdout."""
    typer.echo(json.dumps(data, indent=2))


def duration(seconds: int) -> str:
    """As Slurm writes it: `0:07`, `1:02:03`, `2-01:02:03`."""
    hours, rest = divmod(seconds, 3600)
    days, hours = divmod(hours, 24)
    minutes, left = divmod(rest, 60)
    if days:
        return f"{days}-{hours:02}:{minutes:02}:{left:02}"
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"
