"""A job's output on the terminal as it comes, and how it ended."""

from __future__ import annotations

import asyncio
import signal
import sys

import typer

from corral.jobs.desk import Desk
from corral.jobs.follow import follow
from corral.jobs.layout import JobFolder
from corral.jobs.outcome import End, Unit


async def stream(desk: Desk, folder: JobFolder, *, job_id: int | None) -> int:
    """Follow a job to its end; its exit code. Ctrl-C leaves the job alone."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)
    try:
        return await show(desk, Unit(folder))
    except asyncio.CancelledError:
        # Without a number as long as the controller has not taken it.
        job = job_id or folder.token
        typer.secho(f"\njob {job} goes on. Try: corral logs -f {job}, or corral cancel {job}", dim=True, err=True)
        return 130


async def show(desk: Desk, unit: Unit, rank: int | None = None) -> int:
    """Print what a unit, or one of its ranks, prints until it has ended."""
    end: End | None = None
    shown = ""
    async for glance in follow(desk, unit, rank):
        if glance.output:
            sys.stdout.buffer.write(glance.output)
            sys.stdout.buffer.flush()
        word, _, reason = glance.state.partition(" ")
        if word == "PENDING" and reason not in ("", "None", shown):
            shown = reason
            typer.secho(f"waiting: {reason}", dim=True, err=True)
        end = glance.end
    assert end is not None
    if end.state not in ("COMPLETED", "FAILED"):
        what = typer.style(f"job {end.label}: {end.state.lower()}", fg="red")
        typer.echo(f"{what}. Try: corral why {end.label}", err=True)
    return end.exit_code
