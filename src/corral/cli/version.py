"""`corral version`."""

from __future__ import annotations

import typer

from corral import __version__


def version() -> None:
    """Print the version."""
    typer.echo(f"corral {__version__}")
