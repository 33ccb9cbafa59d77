"""`corral`: the commands, and the one place where errors become text and exit codes.

Exit codes: 0 fine, 1 failed, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import sys

import typer
from rich.markup import escape

from corral.cli import doctor, down, init, node, plan, run, schema, ssh, status, up, version
from corral.cli.terminal import errors
from corral.errors import CorralError

app = typer.Typer(
    help="Loose GPU machines become one Slurm cluster.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(init.init)
app.command()(up.up)
app.command()(plan.plan)
app.command()(status.status)
app.command()(doctor.doctor)
app.add_typer(node.app, name="node")
app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})(ssh.ssh)
app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})(run.run)
app.command()(down.down)
app.command()(schema.schema)
app.command()(version.version)


def main() -> None:
    """Run a command; whatever Corral raises on purpose is shown as one message."""
    try:
        app()
    except CorralError as problem:
        for message in problem.messages:
            errors.print(f"[bold red]error:[/] {escape(message)}", soft_wrap=True)
        sys.exit(problem.exit_code)
    except BrokenPipeError:
        # The reader of our output left (`corral status | head`): that is no error of ours.
        sys.stderr.close()
        sys.exit(1)
