"""The options that commands about jobs share."""

from __future__ import annotations

from typing import Annotated

import typer

from corral.jobs.request import Resources, parse_gpus, parse_memory, parse_time

NodesOption = Annotated[int, typer.Option("--nodes", "-N", min=1, help="Nodes; the command runs on each.")]
GpusOption = Annotated[
    str | None,
    typer.Option("--gpus", "-g", help="GPUs on each node: 2, rtx5090 or rtx5090:2.", show_default="1, if any"),
]
CpusOption = Annotated[
    int | None, typer.Option(min=1, help="CPUs on each node.", show_default="the GPUs' share of the node")
]
MemOption = Annotated[
    str | None, typer.Option(help="Memory on each node, such as 16G.", show_default="the GPUs' share of the node")
]
TimeOption = Annotated[
    str | None, typer.Option("--time", "-t", help="Time limit: 30m, 2h, 1-12:00:00.", show_default="the partition's")
]
PartitionOption = Annotated[
    str, typer.Option("--partition", "-p", help="Slurm partition.", show_default="the default one")
]
QosOption = Annotated[str, typer.Option("--qos", "-q", help="Slurm QOS, such as scavenger.", show_default=False)]
AccountOption = Annotated[str, typer.Option(help="Slurm account.", show_default="yours")]
NameOption = Annotated[str, typer.Option("--name", "-n", help="The job's name.", show_default="the command's")]
EnvOption = Annotated[
    str,
    typer.Option(
        "--env", "-e", help="A virtual environment, conda environment or container image.", show_default=False
    ),
]
DdpOption = Annotated[bool, typer.Option("--ddp", help="One process per GPU on all nodes, started by torchrun.")]
AfterOption = Annotated[
    list[str] | None,
    typer.Option("--after", help="Start when this job has ended well; may be repeated.", show_default=False),
]
NoFolderOption = Annotated[bool, typer.Option("--no-folder", help="Do not send the working folder along.")]
UserOption = Annotated[
    str | None,
    typer.Option("--user", envvar="CORRAL_USER", help="Whose job it is, from outside the cluster.", show_default=False),
]
JobArgument = Annotated[str, typer.Argument(help="12, one trial of a sweep 12_3, or a token.", show_default=False)]
JobsArgument = Annotated[
    list[str] | None, typer.Argument(help="12, one trial of a sweep 12_3, or a token.", show_default=False)
]
MineOption = Annotated[bool, typer.Option("--all", help="All of mine that it applies to.")]


def resources(
    nodes: int,
    gpus: str | None,
    cpus: int | None,
    mem: str | None,
    time: str | None,
    partition: str,
    qos: str,
    account: str,
) -> Resources:
    """What the options say, checked."""
    return Resources(
        nodes=nodes,
        gpus=None if gpus is None else parse_gpus(gpus),
        cpus=cpus,
        memory_mib=None if mem is None else parse_memory(mem),
        time_limit_min=None if time is None else parse_time(time),
        partition=partition,
        qos=qos,
        account=account,
    )
