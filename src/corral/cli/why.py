"""`corral why`."""

from __future__ import annotations

import textwrap

import typer

from corral.cli.columns import terminal_width
from corral.cli.job_options import JobArgument, UserOption
from corral.cli.terminal import ClusterOption, JsonOption, print_json, run
from corral.jobs.why.explain import why as explain
from corral.jobs.why.explanation import Explanation
from corral.workflows.desk import open_desk

_NO_BREAK = "\N{NO-BREAK SPACE}"


def why(job: JobArgument, user: UserOption = None, cluster: ClusterOption = None, as_json: JsonOption = False) -> None:
    """Why a job waits, until when, and what would help; or why it ended."""
    found = run(_why(job, cluster, user))
    if as_json:
        print_json(found.to_json())
    else:
        typer.echo(text_of(found, terminal_width()))


async def _why(job: str, cluster: str | None, user: str | None) -> Explanation:
    async with open_desk(cluster, user) as desk:
        return await explain(desk, job)


def text_of(found: Explanation, width: int | None = None) -> str:
    """The answer as people read it; output of the job stays as it is, however wide."""
    lines = [_wrapped(f"{found.headline}.", "", width), *(_wrapped(detail, "  ", width) for detail in found.details)]
    if found.suggestions:
        lines += ["What helps:", *(_wrapped(suggestion, "  ", width) for suggestion in found.suggestions)]
    if found.log:
        lines += [f"{found.log_title[0].upper()}{found.log_title[1:]}:", *(f"  │ {line}" for line in found.log)]
    return "\n".join(lines)


def _wrapped(text: str, indent: str, width: int | None) -> str:
    if width is None or len(indent) + len(text) <= width:
        return f"{indent}{text}"
    wrapper = textwrap.TextWrapper(width, initial_indent=indent, subsequent_indent=f"{indent}  ")
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    # A command at the end stays on one line, to be copied.
    before, colon, command = text.rpartition(": ")
    if colon and command.startswith(("corral ", "scontrol ")):
        text = f"{before}: {command.replace(' ', _NO_BREAK)}"
    return wrapper.fill(text).replace(_NO_BREAK, " ")
