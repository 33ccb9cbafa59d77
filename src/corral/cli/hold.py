"""`corral hold`."""

from __future__ import annotations

from corral.cli.job_options import JobsArgument, MineOption, UserOption
from corral.cli.outcomes import act_on
from corral.cli.terminal import ClusterOption


def hold(
    jobs: JobsArgument = None,
    mine: MineOption = False,
    user: UserOption = None,
    cluster: ClusterOption = None,
) -> None:
    """Keep waiting jobs from starting until they are released."""
    act_on("hold", jobs, mine, cluster, user)
