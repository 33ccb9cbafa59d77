"""Many jobs on one screen: running ones first, then those that wait, then what ended; a sweep is one line.

Everything here handles ten thousand rows in a moment: no row is looked at more than a few times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from corral.errors import InputError
from corral.jobs.desk import Desk
from corral.jobs.sweep.indices import expand
from corral.slurm.listing import JobRow, history_script, parse_history, parse_queue, queue_script
from corral.slurm.states import ENDED

FAILED = frozenset(("BOOT_FAIL", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT"))
_WAITING = frozenset(("PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"))
_WORDS = {
    "running": frozenset(("RUNNING", "COMPLETING", "CONFIGURING", "RESIZING", "SIGNALING", "STAGE_OUT", "SUSPENDED")),
    "waiting": _WAITING,
    "failed": FAILED,
    "done": frozenset(("COMPLETED",)),
    "cancelled": frozenset(("CANCELLED",)),
}
_PART = "\x1e"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which jobs somebody wants to see."""

    user: str = ""
    """Empty for everybody's."""
    since: int | None = None
    """Also what accounting knows since then."""
    states: frozenset[str] = frozenset()
    """Empty for any."""
    each: bool = False
    """Tasks of arrays one by one."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the overview: a job, or all tasks of an array."""

    label: str
    row: JobRow
    """The job itself; of an array the task that says most about it."""
    counts: dict[str, int] = field(default_factory=dict)
    """Tasks of an array by state; empty for a plain job."""
    gpus: int = 0
    """In use by what runs, or else asked for."""

    def to_json(self) -> dict[str, object]:
        row = self.row
        found: dict[str, object] = {
            "job": self.label, "name": row.name, "user": row.user, "state": row.state, "elapsed_s": row.elapsed_s,
            "time_limit_s": row.time_limit_s, "gpus": self.gpus, "nodes": row.node_count, "node_list": row.nodes,
            "reason": row.reason, "partition": row.partition, "qos": row.qos, "priority": row.priority,
            "submitted": row.submitted, "started": row.started, "ended": row.ended, "folder": row.folder,
        }  # fmt: skip
        return found | {"tasks": self.counts} if self.counts else found


def parse_states(text: str) -> frozenset[str]:
    """`running,failed`, or Slurm's own words; nothing for nothing."""
    found: set[str] = set()
    known = {state.lower() for states in _WORDS.values() for state in states} | {state.lower() for state in ENDED}
    for word in text.lower().split(",") if text else ():
        if word not in _WORDS and word not in known:
            raise InputError(f"--state {word}: there are {', '.join([*_WORDS, *sorted(known - set(_WORDS))])}")
        found |= _WORDS.get(word, {word.upper()})
    return frozenset(found)


async def overview(desk: Desk, wanted: Wanted) -> list[Line]:
    """Ask once, and sort."""
    # Long lists of array tasks are cut off by default.
    script = f"export SLURM_BITSTR_LEN=0\n{queue_script(user=wanted.user, states=('all',), expand=wanted.each)}"
    if wanted.since is not None:
        script += f"\nprintf '{_PART}'\n{history_script(since=wanted.since, user=wanted.user)}"
    queue, _, history = (await desk.must(script, timeout_s=120)).partition(_PART)
    return lines(together(parse_queue(queue), parse_history(history)), wanted)


def together(queue: Sequence[JobRow], history: Sequence[JobRow]) -> list[JobRow]:
    """The queue, and what ended before it: accounting is never believed about what still waits or runs."""
    if not history:
        return list(queue)
    known = {row.id for row in queue}
    return [*queue, *(row for row in history if row.over and row.id not in known)]


def lines(rows: Iterable[JobRow], wanted: Wanted) -> list[Line]:
    """What is wanted, in the order of the screen."""
    chosen = [row for row in rows if row.state in wanted.states] if wanted.states else rows
    arrays: dict[str, list[JobRow]] = {}
    found: list[Line] = []
    for row in chosen:
        if "_" not in row.id or wanted.each:
            found.append(Line(row.id, row, gpus=row.gpus))
        else:
            arrays.setdefault(row.id.partition("_")[0], []).append(row)
    found += [_array(label, tasks) for label, tasks in arrays.items()]
    return sorted(found, key=_place)


def _array(label: str, tasks: list[JobRow]) -> Line:
    counts: Counter[str] = Counter()
    for task in tasks:
        indices = task.id.partition("_")[2]
        counts[task.state] += 1 if indices.isdigit() else len(expand(indices))
    first = min(tasks, key=lambda row: (_class(row), -row.elapsed_s))
    running = [row for row in tasks if _class(row) == 0]
    return Line(label, first, dict(counts), sum(row.gpus for row in running) if running else first.gpus)


def _class(row: JobRow) -> int:
    return 1 if row.state in _WAITING else 2 if row.over else 0


def _place(line: Line) -> tuple[int, float, int]:
    """Running ones by their start, waiting ones as Slurm takes them, ended ones from the latest."""
    row = line.row
    number = int(line.label.partition("_")[0])
    kind = _class(row)
    return (kind, (row.started, -row.priority, -row.ended)[kind], number)
