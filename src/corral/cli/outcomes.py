"""What the commands that act on several jobs share: which jobs, and what became of each."""

from __future__ import annotations

import typer

from corral.cli.terminal import run
from corral.errors import InputError
from corral.jobs.act import Outcome, Verb, act, all_of_mine
from corral.workflows.desk import open_desk


def act_on(
    verb: Verb, jobs: list[str] | None, mine: bool, cluster: str | None, user: str | None, *, ask: bool = False
) -> None:
    """Act on what was named, or on all of the person's own; exit code 1 where something could not be done."""
    if bool(jobs) == mine:
        raise InputError(f"which jobs? Name them (corral {verb} 12 13_4), or take all of yours: corral {verb} --all")
    outcomes = run(_act(verb, jobs or [], mine, cluster, user, ask=ask))
    for outcome in outcomes:
        typer.echo(f"job {outcome.job}: {outcome.words}", err=not outcome.done)
    if not all(outcome.done for outcome in outcomes):
        raise typer.Exit(1)


async def _act(
    verb: Verb, jobs: list[str], mine: bool, cluster: str | None, user: str | None, *, ask: bool
) -> list[Outcome]:
    async with open_desk(cluster, user) as desk:
        if mine:
            jobs = await all_of_mine(desk, verb)
            if not jobs:
                typer.echo(f"there is nothing to {verb}")
                return []
            if ask:
                names = ", ".join(jobs[:8]) + (", …" if len(jobs) > 8 else "")
                typer.confirm(f"{verb} {len(jobs)} of {desk.user}'s jobs ({names})?", abort=True)
        return await act(desk, verb, jobs)
