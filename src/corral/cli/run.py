"""`corral run`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from corral.cli.job_options import (
    AccountOption,
    AfterOption,
    CpusOption,
    DdpOption,
    EnvOption,
    GpusOption,
    MemOption,
    NameOption,
    NodesOption,
    NoFolderOption,
    PartitionOption,
    QosOption,
    TimeOption,
    UserOption,
    resources,
)
from corral.cli.output import stream
from corral.cli.terminal import ClusterOption
from corral.cli.terminal import run as run_workflow
from corral.jobs.submit import Prepared, Sent, send
from corral.workflows.desk import open_desk
from corral.workflows.run import Ask, default_folder, prepare_job


def run(
    command: Annotated[list[str], typer.Argument(help="A Python file or a command, and its arguments.")],
    nodes: NodesOption = 1,
    gpus: GpusOption = None,
    cpus: CpusOption = None,
    mem: MemOption = None,
    time: TimeOption = None,
    partition: PartitionOption = "",
    qos: QosOption = "",
    account: AccountOption = "",
    name: NameOption = "",
    env: EnvOption = "",
    ddp: DdpOption = False,
    after: AfterOption = None,
    no_folder: NoFolderOption = False,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Do not follow the job: print its number.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the batch script that would be sent.")] = False,
    user: UserOption = None,
    cluster: ClusterOption = None,
) -> None:
    """Run a script or a command as a job, follow its output, and exit with its code."""
    wanted = Ask(
        command=tuple(command),
        resources=resources(nodes, gpus, cpus, mem, time, partition, qos, account),
        environment=env,
        name=name,
        ddp=ddp,
        after=tuple(after or ()),
        folder=None if no_folder else default_folder(command),
    )
    raise typer.Exit(run_workflow(_run(wanted, cluster, user, detach=detach, dry_run=dry_run)))


async def _run(wanted: Ask, cluster: str | None, user: str | None, *, detach: bool, dry_run: bool) -> int:
    async with open_desk(cluster, user) as desk:
        prepared = await prepare_job(desk, wanted)
        if dry_run:
            sys.stdout.write(prepared.description.script)
            return 0
        sent = await send(desk, prepared)
        _announce(prepared, sent)
        if detach:
            typer.echo(sent.job_id or sent.folder.token)
            return 0
        return await stream(desk, sent.folder, job_id=sent.job_id)


def _announce(prepared: Prepared, sent: Sent) -> None:
    description = prepared.description
    gpus = (
        f"{description.gpus_per_node} GPU{'s' if description.gpus_per_node != 1 else ''}, "
        if description.gpus_per_node
        else ""
    )
    where = f"{description.nodes} nodes with {gpus}" if description.nodes > 1 else gpus
    if sent.job_id is None:
        away = typer.style("Slurm's controller is away:", fg="yellow")
        typer.echo(f"{away} the job is written down and will be sent when it is back", err=True)
        return
    typer.echo(
        f"job {typer.style(sent.job_id, bold=True)} {description.name}: {where}{description.cpus_per_task} CPUs"
        + (f", {description.memory_mib / 1024:.1f} GiB" if description.memory_mib else ""),
        err=True,
    )
