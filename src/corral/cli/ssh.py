"""`corral ssh`."""

from __future__ import annotations

from typing import Annotated

import typer

from corral.cli.terminal import ClusterOption
from corral.hosts.local import become
from corral.workflows.machines import ssh_to
from corral.workflows.state import find_cluster


def ssh(
    node: Annotated[str, typer.Argument(help="The machine's name in the cluster file.")],
    command: Annotated[list[str] | None, typer.Argument(help="A command to run there.")] = None,
    cluster: ClusterOption = None,
) -> None:
    """Log in to a machine, or run one command on it."""
    become(ssh_to(find_cluster(cluster), node, command or []))
