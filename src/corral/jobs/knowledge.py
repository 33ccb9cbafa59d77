"""What is written down of submissions, and what Slurm knows of them, in a round trip each."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Sequence

from corral.errors import CorralError
from corral.jobs.desk import Desk
from corral.jobs.layout import folder_of
from corral.jobs.ledger import Entry, Known, parse_submissions
from corral.jobs.sweep.indices import expand

_PART = "\x1e"
_FIELD = "\x1f"
# Slurm cuts long sets of array tasks off unless it is told not to.
_WHOLE_SETS = "SLURM_BITSTR_LEN=0"


async def read_entries(desk: Desk, tokens: Sequence[str]) -> list[Entry]:
    """The submissions of these tokens that are there; what is not Corral's writing in them counts for nothing."""
    script = f"""
cd {shlex.quote(desk.home.path)} || exit 1
for token in {" ".join(tokens)}; do
  [ -e $token/submitted ] || continue
  printf '{_PART}%s{_FIELD}' $token; cat $token/submitted; printf '{_FIELD}'
  set -- $token/ended $token/trials/*/ended
  grep -s '' /dev/null "$@"
done
true
"""
    found = []
    for part in (await desk.must(script)).split(_PART)[1:]:
        token, submitted, ended = part.split(_FIELD)
        codes: dict[int | None, int] = {}
        for line in ended.splitlines():
            name, _, code = line.rpartition(":")
            trial = name.split("/")[2] if "/trials/" in name else ""
            if code.isdecimal() and (trial.isdecimal() or not trial):
                codes[int(trial) if trial else None] = int(code)
        if submissions := parse_submissions(submitted):
            found.append(Entry(token, submissions, codes))
    return found


async def in_queue(desk: Desk) -> dict[str, list[Known]]:
    """What the controller knows of the person's jobs, by token; those that ended minutes ago included."""
    listing = f"{_WHOLE_SETS} squeue -h -r -t all -u {desk.user} -o '%i{_FIELD}%T{_FIELD}{_FIELD}%Z'"
    return _known(desk, await desk.must(listing))


async def in_history(desk: Desk, entries: Iterable[Entry]) -> dict[str, list[Known]]:
    """What the accounting knows of the person's jobs since these were sent, by token."""
    since = min(submission.sent_at for entry in entries for submission in entry.submissions) - 60
    start = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(since))
    fields = f"--delimiter='{_FIELD}' -o jobid,state,exitcode,workdir"
    listing = f"TZ=UTC {_WHOLE_SETS} sacct -nXPD -u {desk.user} -S {start} {fields}"
    found = _known(desk, await desk.must(listing))
    # The record of a run that was requeued; what became of the job since is in another, or nobody knows.
    return {token: [job for job in jobs if job.state != "REQUEUED"] for token, jobs in found.items()}


def _known(desk: Desk, said: str) -> dict[str, list[Known]]:
    found: dict[str, list[Known]] = {}
    for line in said.split("\n"):
        fields = line.split(_FIELD)
        if len(fields) != 4:
            # Somebody's work folder with a line break in its name is none of Corral's.
            continue
        label, state, exit_code, work_dir = fields
        folder = folder_of(work_dir, desk.site.jobs)
        job_id, mark, tasks = label.partition("_")
        if folder is None or not job_id.isdecimal():
            continue
        for trial in _trials(tasks) if mark else (None,):
            known = Known(int(job_id), trial, state.split(" ")[0], exit_code)
            found.setdefault(folder.token, []).append(known)
    return found


def _trials(tasks: str) -> tuple[int, ...]:
    """`3`, or `[0-9%2]`: tasks that were cancelled before they started stay one record, in the queue and after it."""
    try:
        return expand(tasks)
    except CorralError:
        return ()
