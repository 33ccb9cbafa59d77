"""`corral requeue`."""

from __future__ import annotations

from corral.cli.job_options import JobsArgument, MineOption, UserOption
from corral.cli.outcomes import act_on
from corral.cli.terminal import ClusterOption


def requeue(
    jobs: JobsArgument = None,
    mine: MineOption = False,
    user: UserOption = None,
    cluster: ClusterOption = None,
) -> None:
    """Run jobs again, from their last checkpoint if they have one; ended ones too."""
    act_on("requeue", jobs, mine, cluster, user)
