"""The files that Corral writes on machines. This folder mirrors their paths there: `etc/slurm/slurm.conf`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def render(path: str, **values: object) -> bytes:
    """The file for a path on a machine."""
    return _environment().get_template(path.lstrip("/")).render(**values).encode()


@cache
def _environment() -> Environment:
    # Configuration files, not HTML: escaping would corrupt them.
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 (as above)
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
