"""`corral why`."""

from __future__ import annotations

import typer

from corral.cli.job_options import JobArgument, UserOption
from corral.cli.terminal import ClusterOption, JsonOption, print_json, run
from corral.jobs.why.explain import why as explain
from corral.jobs.why.explanation import Explanation
from corral.workflows.desk import open_desk


def why(job: JobArgument, user: UserOption = None, cluster: ClusterOption = None, as_json: JsonOption = False) -> None:
    """Why a job waits, until when, and what would help; or why it ended."""
    found = run(_why(job, cluster, user))
    if as_json:
        print_json(found.to_json())
    else:
        typer.echo(text_of(found))


async def _why(job: str, cluster: str | None, user: str | None) -> Explanation:
    async with open_desk(cluster, user) as desk:
        return await explain(desk, job)


def text_of(found: Explanation) -> str:
    """The answer as people read it."""
    lines = [f"{found.headline}.", *(f"  {detail}" for detail in found.details)]
    if found.suggestions:
        lines += ["What helps:", *(f"  {suggestion}" for suggestion in found.suggestions)]
    if found.log:
        lines += [f"{found.log_title[0].upper()}{found.log_title[1:]}:", *(f"  │ {line}" for line in found.log)]
    return "\n".join(lines)
