"""From what a person types to the job that is meant: `12`, a trial `12_3`, or a submission's token.

Slurm forgets jobs, first in its queue and later in its accounting; the ledger in people's job folders does not.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from corral.errors import InputError, NoSuchJob, SlurmUnavailable
from corral.jobs.desk import Desk
from corral.jobs.layout import JobFolder, folder_of, is_token
from corral.jobs.outcome import Unit
from corral.jobs.sweep.indices import expand

_NUMBER = re.compile(r"(?P<job>[1-9]\d*)(?:_(?P<trial>\d+))?")
_FIELD = "\x1f"

_ROWS = f"""
export SLURM_BITSTR_LEN=0 # or long lists of tasks are cut off
rows=$(squeue -h -t all -j "$id$task" -o '%A{_FIELD}%i{_FIELD}%u{_FIELD}%T{_FIELD}%Z' 2>/dev/null)
if [ -z "$rows" ]; then
  rows=$(sacct -nXP -j "$id$task" --delimiter='{_FIELD}' -o jobidraw,jobid,user,state,workdir 2>/dev/null)
fi
printf '%s\\n' "$rows"
[ -z "$rows" ] || exit 0
grep -lsE "^[0-9]+ $id " {{home}}/*/submitted | head -n 1 | while read -r file; do
  echo "ledger{_FIELD}${{{{file%/*}}}}{_FIELD}$(awk '{{{{ print $4 }}}}' "$file" | sort -u | paste -sd,)"
done
echo "said{_FIELD}$(squeue -h -j "$id" 2>&1 >/dev/null | tail -n 1)"
"""


@dataclass(frozen=True, slots=True)
class Task:
    """One job or array task in Slurm's words; an array's waiting tasks come together, as `12_[4-9%2]`."""

    label: str
    state: str

    @property
    def count(self) -> int:
        """How many tasks it stands for."""
        tasks = self.label.partition("_")[2]
        return len(expand(tasks)) if "[" in tasks else 1


@dataclass(frozen=True, slots=True)
class Found:
    """A job that somebody named."""

    label: str
    """What Slurm is to be asked about: `12` or `12_3`."""
    user: str
    folder: JobFolder | None
    """None for a job that did not come from Corral."""
    array: bool
    tasks: tuple[Task, ...] = ()
    """What Slurm knows of it; nothing where it has forgotten."""

    @property
    def trial(self) -> int | None:
        _, mark, trial = self.label.partition("_")
        return int(trial) if mark else None

    @property
    def trials(self) -> list[int]:
        """The numbers of an array's tasks that Slurm knows of."""
        return sorted({number for task in self.tasks for number in expand(task.label.partition("_")[2])})


async def find(desk: Desk, text: str) -> Found:
    """The job, or `NoSuchJob`; one question to the cluster."""
    number = _NUMBER.fullmatch(text)
    if number is None and not is_token(text):
        raise InputError(
            f"'{text}' is no job. Write its number (12), for one trial of a sweep 12_3, or the token of its folder"
        )
    home = desk.home.path
    if number is None:
        file = shlex.quote(desk.home.job(text).submitted)
        which = f"id=$(awk '$2 > 0 {{ id = $2 }} END {{ print id + 0 }}' {file}) || exit 3; task="
    else:
        which = f"id={number['job']} task={'_' + number['trial'] if number['trial'] else ''}"
    done = await desk.run(f'{which}\necho "$id$task"\n' + _ROWS.format(home=shlex.quote(home)))
    if done.exit_code == 3:
        raise NoSuchJob(f"{desk.user} has no job {text}: there is no folder {desk.home.job(text).path}")
    label, _, listing = done.stdout.partition("\n")
    if label == "0":
        raise SlurmUnavailable(f"{text} is written down and not sent yet: Slurm's controller was away. Try again soon")
    return _read(desk, label, [line.split(_FIELD) for line in listing.splitlines() if _FIELD in line])


def _read(desk: Desk, label: str, rows: list[list[str]]) -> Found:
    if rows[0][0] == "ledger":
        return _by_ledger(desk, label, *rows[0][1:])
    if rows[0][0] == "said":
        said = rows[0][1]
        if said and "Invalid job id" not in said:
            raise SlurmUnavailable(f"{said.removeprefix('slurm_load_jobs error: ')}. Try: corral status")
        raise NoSuchJob(f"Slurm knows no job {label}. Try: corral jobs --since 7d")
    record, name, user, _, work_dir = rows[0]
    if record == label and name.partition("_")[2].isdigit() and name.partition("_")[0] != label:
        # Slurm gives tasks that started numbers of their own, which people see in its listings.
        label = name
    tasks = tuple(Task(row[1], row[3].partition(" ")[0]) for row in rows)
    return Found(label, user, folder_of(work_dir, desk.site.jobs), array="_" in name and "_" not in label, tasks=tasks)


def _by_ledger(desk: Desk, label: str, path: str, indices: str) -> Found:
    job, _, trial = label.partition("_")
    trials = () if indices == "-" else expand(indices)
    if trial and int(trial) not in trials:
        raise NoSuchJob(f"job {job} has no trial {trial}" + (f"; it has {indices}" if trials else ": it is no sweep"))
    return Found(label, desk.user, JobFolder(path), array=bool(trials) and not trial)


async def find_unit(desk: Desk, text: str) -> Unit:
    """The unit whose output and end can be watched."""
    found = await find(desk, text)
    if found.folder is None:
        raise InputError(f"job {found.label} was not sent by Corral, which therefore cannot watch it")
    return unit_of(found)


def unit_of(found: Found) -> Unit:
    """The unit of a job that came from Corral."""
    assert found.folder is not None
    if found.array:
        trials = found.trials
        many = f"{trials[0]} to {trials[-1]}" if trials else "several trials"
        example = f"{found.label}_{trials[0] if trials else 0}"
        raise InputError(f"job {found.label} is a sweep ({many}): choose a trial, such as {example}")
    return Unit(found.folder, found.trial)
