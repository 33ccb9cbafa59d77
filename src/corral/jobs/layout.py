"""Where everything of a job lies on shared storage: the one place that knows the names.

JOBS/.open/USER.TOKEN      submissions that are not settled yet: the ledger
JOBS/USER/                 one person's
  code/HASH/               snapshots of working folders, by content
  TOKEN/                   one submission, a job or a sweep; Slurm knows it as the job's WorkDir
    job.json               what was asked for
    description.json       what Slurm was told, but for the script
    batch.sh               the script
    submitted              a line per submission: ATTEMPT JOB-ID EPOCH INDICES
    log, logs/N.log        output of the job, of a sweep's trials
    trials.args            a sweep's parameters and commands, one line of shell words per trial
    trials.jsonl           its parameters alone, one JSON object per line
    calls.pkl              of a map: the function and every trial's arguments
    trials/N/              a sweep's units; a job's only unit is TOKEN/ itself

A unit has: attempt (which submission may run it), work/, started (its command was), ended (its exit code), again (it
saved its state and wants to go on), metrics.jsonl, ranks/N.log, checkpoint/, call.pkl, result.pkl.
"""

from __future__ import annotations

import re
import secrets
import string
import time
from dataclasses import dataclass

TRIAL_COMMANDS = "trials.args"
TRIAL_PARAMS = "trials.jsonl"

_TOKEN = re.compile(r"\d{6}-\d{6}-[a-z0-9]{4}")


def new_token() -> str:
    """A name for a submission that sorts by time and that nobody else has."""
    tail = "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(4))
    return f"{time.strftime('%y%m%d-%H%M%S', time.gmtime())}-{tail}"


def is_token(text: str) -> bool:
    return _TOKEN.fullmatch(text) is not None


def open_folder(jobs: str) -> str:
    """Where submissions are listed until they are settled; everybody may add, and remove only their own."""
    return f"{jobs}/.open"


@dataclass(frozen=True, slots=True)
class Home:
    """One person's folder among the jobs."""

    jobs: str
    user: str

    @property
    def path(self) -> str:
        return f"{self.jobs}/{self.user}"

    def open_mark(self, token: str) -> str:
        return f"{open_folder(self.jobs)}/{self.user}.{token}"

    def code(self, digest: str) -> str:
        return f"{self.path}/code/{digest}"

    def job(self, token: str) -> JobFolder:
        return JobFolder(f"{self.path}/{token}")


@dataclass(frozen=True, slots=True)
class JobFolder:
    """One submission's folder."""

    path: str

    @property
    def token(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def request(self) -> str:
        return f"{self.path}/job.json"

    @property
    def description(self) -> str:
        return f"{self.path}/description.json"

    @property
    def script(self) -> str:
        return f"{self.path}/batch.sh"

    @property
    def submitted(self) -> str:
        return f"{self.path}/submitted"

    def log(self, trial: int | str | None = None) -> str:
        """The unit's output; Slurm writes `%a` for the number of a trial."""
        return f"{self.path}/log" if trial is None else f"{self.path}/logs/{trial}.log"

    def unit(self, trial: int | None = None) -> str:
        return self.path if trial is None else f"{self.path}/trials/{trial}"

    def rank_log(self, rank: int, trial: int | None = None) -> str:
        return f"{self.unit(trial)}/ranks/{rank}.log"


def folder_of(work_dir: str, jobs: str) -> JobFolder | None:
    """The folder of a job by what Slurm knows as its work folder; None for jobs that did not come from Corral."""
    parts = work_dir.removeprefix(f"{jobs}/").split("/")
    if not work_dir.startswith(f"{jobs}/") or len(parts) != 2 or not is_token(parts[1]):
        return None
    return JobFolder(work_dir)
