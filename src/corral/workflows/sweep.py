"""`corral sweep`: many runs of one command, declared as a set of trials that are run until each has its result."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corral.errors import InputError
from corral.jobs.desk import Desk
from corral.jobs.knowledge import in_history, in_queue, read_entries
from corral.jobs.layout import TRIAL_COMMANDS, TRIAL_PARAMS, JobFolder, is_token
from corral.jobs.ledger import Entry, parse_submissions
from corral.jobs.resend import resend
from corral.jobs.submit import Prepared, ask, prepare
from corral.jobs.sweep.command import args_file, params_file, read_params_file
from corral.jobs.sweep.results import (
    Objective,
    TrialResult,
    guess_objective,
    last_report,
    parse_reports,
    ranked,
    result,
)
from corral.jobs.sweep.space import Trial
from corral.jobs.sweep.trials import SweepStatus, TrialState, sweep_status
from corral.workflows.run import Ask, command_of, request_of, snapshot_of

_PART = "\x1e"
_LOG_END_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep as its folder tells it."""

    folder: JobFolder
    name: str
    trials: tuple[Trial, ...]
    job_id: int | None
    """Of the latest array that was sent; None while the controller has not answered."""


async def prepare_sweep(
    desk: Desk,
    wanted: Ask,
    trials: Sequence[Trial],
    at_most: int | None,
    files: Mapping[str, bytes] | None = None,
) -> Prepared:
    """The whole sweep as one job array; nothing is changed anywhere."""
    snapshot = await snapshot_of(wanted)
    found = await ask(desk, wanted.resources, wanted.environment, snapshot)
    array = f"0-{len(trials) - 1}" + (f"%{at_most}" if at_most else "")
    command = command_of(wanted.command, found.environment)
    return prepare(
        desk,
        request_of(wanted, found.resources, found.environment),
        snapshot,
        has_code=found.has_code,
        array=array,
        sweep={"units": len(trials), "at_most": at_most},
        files={
            TRIAL_COMMANDS: args_file(command, trials).encode(),
            TRIAL_PARAMS: params_file(trials).encode(),
            **(files or {}),
        },
    )


async def find_sweep(desk: Desk, which: str | None) -> Sweep:
    """A sweep by its token or any of its job numbers; without either, the latest."""
    home = shlex.quote(desk.home.path)
    if which is None:
        script = f"cd {home} 2>/dev/null && ls -d */trials.jsonl | tail -n 1"
    elif is_token(which):
        script = f"cd {home} && ls {which}/trials.jsonl"
    else:
        number = which.partition("_")[0]
        if not number.isdigit():
            raise InputError(f"'{which}' is no sweep: write its job number, such as 12, or leave it out for the latest")
        told = f"$(grep -lE '^[0-9]+ {number} ' */submitted)"
        script = f"cd {home} && for file in {told}; do ls ${{file%/*}}/trials.jsonl; done | tail -n 1"
    token = (await desk.run(f"{script} 2>/dev/null")).stdout.strip().partition("/")[0]
    if not token:
        raise InputError(f"{desk.user} has no sweep {which}" if which else f"{desk.user} has no sweeps yet")
    folder = desk.home.job(token)
    files = f"cat job.json && printf '{_PART}' && cat {TRIAL_PARAMS} && printf '{_PART}' && cat submitted"
    about, params, submitted = (await desk.must(f"cd {folder.path} && {files}")).split(_PART)
    ids = [submission.job_id for submission in parse_submissions(submitted) if submission.job_id]
    name = str(json.loads(about)["request"]["name"])
    return Sweep(folder, name, read_params_file(params), ids[-1] if ids else None)


async def status_of(desk: Desk, sweep: Sweep) -> SweepStatus:
    """What became of every trial."""
    return (await _look(desk, sweep))[1]


async def resume(desk: Desk, sweep: Sweep, *, failed: bool) -> tuple[int, ...]:
    """Send again what nobody runs: what was lost or cancelled and, if asked, what failed."""
    entry, status = await _look(desk, sweep)
    states = [TrialState.LOST, TrialState.CANCELLED, *([TrialState.FAILED] if failed else [])]
    again = status.indices(*states)
    if again:
        await resend(desk, sweep.folder, entry.submissions[-1].attempt + 1, again, anew=True)
    return again


async def cancel(desk: Desk, sweep: Sweep) -> int:
    """End everything of it that waits or runs; how many trials that were."""
    _, status = await _look(desk, sweep)
    rest = await desk.rest()
    for job_id in sorted({trial.job_id for trial in status.trials if trial.state in _ACTIVE and trial.job_id}):
        await rest.cancel(job_id)
    return len(status.indices(*_ACTIVE))


async def results_of(
    desk: Desk, sweep: Sweep, objective: Objective | None
) -> tuple[list[TrialResult], Objective | None]:
    """What the trials measured, best first, and what best means."""
    status = await status_of(desk, sweep)
    reports = await _reports(desk, sweep)
    rows = [
        result(trial, state.state, reports.get(trial.index, ()), objective)
        for trial, state in zip(sweep.trials, status.trials, strict=True)
    ]
    objective = objective or guess_objective(report for history in reports.values() for report in history)
    return ranked(rows, objective), objective


_ACTIVE = (TrialState.WAITING, TrialState.RUNNING)


async def _look(desk: Desk, sweep: Sweep) -> tuple[Entry, SweepStatus]:
    entry = (await read_entries(desk, [sweep.folder.token]))[0]
    token, count = sweep.folder.token, len(sweep.trials)
    ended = {unit: code for unit, code in entry.ended.items() if unit is not None}
    queue = entry.own((await in_queue(desk)).get(token, []))
    # The queue remembers ends for some minutes; only what it forgot must be looked up.
    status = sweep_status(count, ended, queue, queue)
    if status.missing:
        past = entry.own((await in_history(desk, [entry])).get(token, []))
        status = sweep_status(count, ended, queue, queue + past)
    return entry, status


async def _reports(desk: Desk, sweep: Sweep) -> Mapping[int, tuple[Mapping[str, float | int | bool | str], ...]]:
    """Every trial's reports, or what its output ends with, in one round trip."""
    script = f"""
cd {shlex.quote(sweep.folder.path)} || exit 1
for log in logs/*.log; do
  [ -e "$log" ] || continue
  trial=${{log##*/}}; trial=${{trial%.log}}
  if [ -s trials/$trial/metrics.jsonl ]; then printf '{_PART}%s m\\n' $trial; cat trials/$trial/metrics.jsonl
  else printf '{_PART}%s l\\n' $trial; tail -c {_LOG_END_BYTES} "$log"; fi
done
"""
    found = {}
    for part in (await desk.must(script, timeout_s=300)).split(_PART)[1:]:
        head, _, text = part.partition("\n")
        trial, kind = head.split()
        found[int(trial)] = parse_reports(text) if kind == "m" else last_report(text)
    return found
