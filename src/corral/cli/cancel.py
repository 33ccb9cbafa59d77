"""`corral cancel`."""

from __future__ import annotations

from typing import Annotated

import typer

from corral.cli.job_options import JobsArgument, MineOption, UserOption
from corral.cli.outcomes import act_on
from corral.cli.terminal import ClusterOption


def cancel(
    jobs: JobsArgument = None,
    mine: MineOption = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --all: do not ask.")] = False,
    user: UserOption = None,
    cluster: ClusterOption = None,
) -> None:
    """End jobs, whether they wait or run; a sweep with all its trials."""
    act_on("cancel", jobs, mine, cluster, user, ask=not yes)
