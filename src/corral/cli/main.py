"""`corral`: the one place where errors become text and exit codes.

Exit codes: 0 fine, 1 failed, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import sys

import typer

from corral.cli.commands import Commands
from corral.errors import CorralError, InputError

_OPERATORS_LIBRARIES = ("asyncssh", "jinja2", "pydantic", "yaml")

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Plain text: drawing boxes would take longer than all the rest.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def corral() -> None:
    """Loose GPU machines become one Slurm cluster."""


def main() -> None:
    """Run a command; whatever Corral raises on purpose is shown as one message."""
    try:
        _run()
    except CorralError as problem:
        _show(problem)
        sys.exit(problem.exit_code)
    except BrokenPipeError:
        # The reader of our output left (`corral status | head`): that is no error of ours.
        sys.stderr.close()
        sys.exit(1)


def _run() -> None:
    try:
        app()
    except ModuleNotFoundError as missing:
        library = (missing.name or "").partition(".")[0]
        if library not in _OPERATORS_LIBRARIES:
            raise
        raise InputError(
            f"this command belongs on the operator's computer: it needs {library}, which is not on this machine"
        ) from missing


def _show(problem: CorralError) -> None:
    from rich.markup import escape

    from corral.cli.terminal import errors

    for message in problem.messages:
        errors.print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)
