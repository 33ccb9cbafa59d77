"""`corral logs`."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import Annotated

import typer

from corral.cli.job_options import JobArgument, UserOption
from corral.cli.output import show
from corral.cli.terminal import ClusterOption, run
from corral.errors import InputError
from corral.jobs.desk import Desk
from corral.jobs.find import find
from corral.jobs.output import Log, follow_other, log_of, read
from corral.slurm.states import ENDED
from corral.workflows.desk import open_desk


def logs(
    job: JobArgument,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job ends.")] = False,
    rank: Annotated[int | None, typer.Option("--rank", "-r", min=0, help="Only this rank of a --ddp job.")] = None,
    lines: Annotated[
        int | None, typer.Option("--lines", "-n", min=1, help="Only the last lines.", show_default="all")
    ] = None,
    user: UserOption = None,
    cluster: ClusterOption = None,
) -> None:
    """What a job has printed; with -f also what it prints from now on."""
    if follow and lines is not None:
        raise InputError("--follow shows everything from the start, --lines only the end: choose one")
    raise typer.Exit(run(_logs(job, follow, rank, lines, cluster, user)))


async def _logs(
    job: str, follow: bool, rank: int | None, lines: int | None, cluster: str | None, user: str | None
) -> int:
    async with open_desk(cluster, user) as desk:
        log = await log_of(desk, await find(desk, job), rank)
        if follow:
            return await _follow(desk, log)
        async for piece in read(desk, log, lines):
            _write(piece)
        return 0


async def _follow(desk: Desk, log: Log) -> int:
    """To the job's end, whose code is ours; Ctrl-C only stops looking."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)
    try:
        if log.rank is not None and log.state in ENDED:
            # A rank that was never there would be waited for in silence.
            async for _ in read(desk, log, 1):
                pass
        if log.unit is not None:
            return await show(desk, log.unit, log.rank)
        async for piece in follow_other(desk, log):
            _write(piece)
    except asyncio.CancelledError:
        return 130
    return 0


def _write(piece: bytes) -> None:
    sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
