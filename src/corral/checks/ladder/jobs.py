"""The ladder's jobs: plain srun on the head, as root, with nothing on shared storage, which is itself under test.

Every job has a time limit and carries the ladder's name, by which all of them are cancelled when it is left early.
"""

from __future__ import annotations

import json
import re
import secrets
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from corral.errors import CheckError, Lost
from corral.gauges.report import MARK
from corral.hosts.base import Host, as_user

_LIBRARY = "/opt/corral/lib"
_LIMIT_MINUTES = 5
_LONG_S = 90
_TO_TELL_S = 15
_TIMED_OUT = (124, 137)
# What srun says of every task that failed, whatever the task itself has said.
_NOISE = re.compile(r"task \d+: Exited with|Job step aborted|Terminating StepId|SIGTERM|CANCELLED AT")
_OTHER_VERSION = re.compile(r"No module named '?corral")
# The last one is said of nodes that somebody has reserved: those that are out of service are sent nothing.
_BUSY = ("nodes are busy", "Immediate execution impossible", "Required node not available")

# All at once, each with its own files: what one says does not mix with what another says.
_SCRIPT = """
cd /; export PYTHONPATH={library} PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT; trap 'exit 143' TERM HUP
{starts}
wait
for job in {numbers}; do
  printf '%s' {marker}; cat "$folder/$job.code" 2>/dev/null || echo 143
  printf '%s' {marker}; cat "$folder/$job.out"
  printf '%s' {marker}; cat "$folder/$job.err"
done
"""
_START = """(timeout -k 3 {limit_s:.0f} srun {options} {command} </dev/null \\
  >"$folder/{number}.out" 2>"$folder/{number}.err"
echo $? >"$folder/{number}.code") &"""


@dataclass(frozen=True, slots=True)
class Job:
    """One job: one task on each of its nodes, or on one node that Slurm chooses among those not left out."""

    gauge: str
    """What follows `python3 -m corral.gauges.`."""
    nodes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    gpus: int = 0
    """On each node."""
    whole_nodes: bool = False
    python: str = "python3"
    user: str = ""
    """Who runs it within the job; root if nobody."""
    waits: bool = False
    """It is meant to wait for others of ours, and has time for that."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How a job ended and what its tasks told."""

    exit_code: int
    records: tuple[dict[str, Any], ...]
    words: str
    """The end of everything else that it said, srun's own complaints included."""

    @property
    def ok(self) -> bool:
        return self.exit_code == 0

    @property
    def busy(self) -> bool:
        """It did not start because others were faster; that is no fault of the cluster."""
        return not self.ok and any(text in self.words for text in _BUSY)

    @property
    def lacks_corral(self) -> bool:
        return not self.ok and _OTHER_VERSION.search(self.words) is not None


class Jobs:
    """Sends jobs to one cluster."""

    def __init__(self, head: Host, partitions: Sequence[str], *, patience_s: int = 20, longest_s: float = 300) -> None:
        """A job that is not started within `patience_s` gives up, and none may take longer than `longest_s`."""
        self.name = f"corral-check-{secrets.token_hex(4)}"
        self._head = head
        self._partitions = ",".join(partitions)
        self._patience_s = patience_s
        self._longest_s = longest_s

    async def run(self, jobs: Sequence[Job], *, timeout_s: float) -> list[Answer]:
        """Start all at once and wait for all; whatever still runs after the time is cancelled."""
        limit_s = min(timeout_s, self._longest_s)
        marker = f"--{secrets.token_hex(8)}--"
        starts = [
            _START.format(limit_s=limit_s, options=self._options(job), command=_command(job), number=number)
            for number, job in enumerate(jobs)
        ]
        script = _SCRIPT.format(
            library=_LIBRARY, starts="\n".join(starts), numbers=" ".join(map(str, range(len(jobs)))), marker=marker
        )
        done = await self._head.run(script, timeout_s=limit_s + _TO_TELL_S)
        parts = done.stdout.split(marker)[1:]
        if len(parts) < 3 * len(jobs):
            raise Lost(self._head.name, f"the jobs' answers did not come: {done.last_words()}")
        answers = [read_answer(*parts[3 * number : 3 * number + 3]) for number in range(len(jobs))]
        others = [node for job, answer in zip(jobs, answers, strict=True) if answer.lacks_corral for node in job.nodes]
        if others:
            names = ", ".join(dict.fromkeys(others))
            raise CheckError(f"{names}: this version of Corral is not on the machines. Try: corral up")
        if any(answer.exit_code in _TIMED_OUT for answer in answers):
            await self.cancel()
        return answers

    async def cancel(self) -> None:
        """End whatever is left of them."""
        await self._head.run(f"scancel --name={self.name}", timeout_s=20)

    def _options(self, job: Job) -> str:
        options = [
            f"--job-name={self.name}", f"--partition={self._partitions}", f"--time={_LIMIT_MINUTES}",
            f"--immediate={_LONG_S if job.waits else self._patience_s}", f"--nodes={max(1, len(job.nodes))}",
            "--ntasks-per-node=1", "--kill-on-bad-exit=1", "--mpi=none", "--quiet",
        ]  # fmt: skip
        options += [f"--nodelist={','.join(job.nodes)}"] if job.nodes else []
        options += [f"--exclude={','.join(job.left_out)}"] if job.left_out else []
        options += [f"--gres=gpu:{job.gpus}"] if job.gpus else []
        options += (
            ["--exclusive", "--mem=0", "--cpu-bind=none"] if job.whole_nodes else ["--cpus-per-task=1", "--mem=128"]
        )
        return " ".join(options)


def _command(job: Job) -> str:
    command = f"{shlex.quote(job.python)} -m corral.gauges.{job.gauge}"
    if not job.user:
        return command
    # What resets the environment takes the job's own with it.
    keep = 'PYTHONPATH="$PYTHONPATH" SLURMD_NODENAME="$SLURMD_NODENAME"'
    return f"sh -c {shlex.quote(f'exec {as_user(job.user)} env {keep} {command}')}"


def read_answer(code: str, out: str, err: str) -> Answer:
    """What a job printed: the lines of its gauge, and the rest."""
    records, words = [], []
    for line in out.splitlines():
        _, mark, content = line.partition(MARK)
        if mark:
            records.append(json.loads(content))
        elif line.strip():
            words.append(line)
    words += [line for line in err.splitlines() if line.strip() and not _NOISE.search(line)]
    exit_code = int(code.strip() or 1)
    words += ["it was not over in time"] if exit_code in _TIMED_OUT else []
    return Answer(exit_code, tuple(records), "; ".join(words[-4:]))
