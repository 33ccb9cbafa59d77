"""`corral jobs`."""

from __future__ import annotations

import json
import sys
import time
from typing import Annotated

import typer

from corral.cli.columns import GREEN, RED, YELLOW, columns, terminal_width
from corral.cli.job_options import UserOption
from corral.cli.terminal import ClusterOption, JsonOption, run
from corral.jobs.overview import FAILED, Line, Wanted, overview, parse_states
from corral.jobs.since import parse_since
from corral.jobs.why.reasons import reason_of
from corral.jobs.words import clock, counted, state_word
from corral.slurm.states import ENDED
from corral.workflows.desk import open_desk

_LINES = 40
# Of what ended in the last minutes, unless somebody asks for more.
_ENDED = 5
_LOOK_BACK = "1d"
_COLORS = {"running": GREEN, "waiting": YELLOW, **{state_word(state).split(" ")[0]: RED for state in FAILED}}


def jobs(
    everybody: Annotated[bool, typer.Option("--all", "-a", help="Everybody's jobs, not only mine.")] = False,
    since: Annotated[
        str | None, typer.Option("--since", "-s", help="Also what ended since: 12h, 2d, yesterday, 2026-11-01.")
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only what failed, since a day ago or --since.")] = False,
    state: Annotated[
        str | None, typer.Option("--state", help="Only in this state: running, waiting, failed, done, cancelled.")
    ] = None,
    each: Annotated[bool, typer.Option("--each", "-e", help="Trials of sweeps one by one.")] = False,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="How many lines.")] = None,
    user: UserOption = None,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
) -> None:
    """My jobs: what runs, what waits and why, and what ended a moment ago."""
    states = parse_states("failed" if failed else state or "")
    look_back = since or (_LOOK_BACK if states & ENDED else None)
    now = time.time()
    found = run(
        _overview(
            cluster, user, everybody,
            Wanted(since=parse_since(look_back, now) if look_back else None, states=states, each=each),
        )
    )  # fmt: skip
    if as_json:
        shown = found if limit is None else found[:limit]
        sys.stdout.write(json.dumps([line.to_json() for line in shown]) + "\n")
        return
    if not look_back and limit is None:
        alive = sum(not line.row.over for line in found)
        found = found[: alive + _ENDED]
    _show(found, limit or _LINES, everybody=everybody)


async def _overview(cluster: str | None, user: str | None, everybody: bool, wanted: Wanted) -> list[Line]:
    async with open_desk(cluster, user) as desk:
        whose = "" if everybody else desk.user
        return await overview(desk, Wanted(whose, wanted.since, wanted.states, wanted.each))


def _show(found: list[Line], limit: int, *, everybody: bool) -> None:
    if not found:
        typer.echo("no jobs")
        return
    titles = ["JOB", "NAME", "STATE", "TIME", "GPUS", "NODES", "WHERE OR WHY"]
    rows = [_cells(line) for line in found[:limit]]
    if everybody:
        titles.insert(1, "USER")
        for row, line in zip(rows, found, strict=False):
            row.insert(1, line.row.user)
    width = terminal_width()
    colors = {titles.index("STATE"): _COLORS} if width is not None else None
    text = columns(titles, rows, width=width, gives_way=("NAME", "WHERE OR WHY", "STATE"), colors=colors)
    if len(found) > limit:
        text.append(f"… and {len(found) - limit} more. Try: --limit {len(found)}, or --state running")
    sys.stdout.write("\n".join(text) + "\n")


def _cells(line: Line) -> list[str]:
    row = line.row
    waits = row.state == "PENDING"
    if line.counts:
        where = f"{counted(line.counts)}{f', {reason_of(row.reason).short}' if waits else ''}"
    elif waits:
        where = reason_of(row.reason).short
    elif row.over:
        where = f"exit code {row.exit_code}" if row.exit_code else ""
    else:
        where = row.nodes
    return [
        line.label,
        row.name,
        state_word(row.state),
        "" if waits else clock(row.elapsed_s),
        str(line.gpus or "–"),
        str(row.node_count),
        where,
    ]
