"""`corral release`."""

from __future__ import annotations

from corral.cli.job_options import JobsArgument, MineOption, UserOption
from corral.cli.outcomes import act_on
from corral.cli.terminal import ClusterOption


def release(
    jobs: JobsArgument = None,
    mine: MineOption = False,
    user: UserOption = None,
    cluster: ClusterOption = None,
) -> None:
    """Let held jobs start."""
    act_on("release", jobs, mine, cluster, user)
