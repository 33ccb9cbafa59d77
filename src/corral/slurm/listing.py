"""Long lists of jobs, from squeue and sacct.

They never go through REST or `--json`: with 10,000 jobs those cost seconds and gigabytes, the text formats a tenth of a
second. The separator holds a random word, so that no job's name or folder can pretend to be a field or a row.
"""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from corral.errors import SlurmError
from corral.slurm.states import ENDED
from corral.slurm.text import parse_gres

_SEPARATOR = re.compile("\x1f[0-9a-f]{6}")
_DURATION = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)")
_TRES_GPUS = re.compile(r"gres/gpu(?::([^=,]+))?=(\d+)")
# The free texts come last. %A is the id of the record: an array's waiting tasks have one together.
_QUEUE_FORMAT = "%i %A %u %T %P %q %V %S %e %M %l %D %N %b %Q %r %Z %j"
# `12 cpu=4,…,gres/gpu=2,…` becomes `12 2`; byte by byte, because sed is slow in other alphabets.
_ONLY_GPUS = r"LC_ALL=C sed -n 's/^\([0-9]*\) .*gres\/gpu=\([0-9]*\).*/\1 \2/p'"
_GPUS = "\x1d"
"""Begins the list of GPUs, which holds only numbers: the last of its kind is ours, whatever a job is called."""
# Time zones are files but for this one, and Slurm's commands look at theirs again for every time that they print.
_EPOCH_TIMES = "TZ=UTC0 SLURM_TIME_FORMAT=%s"
_HISTORY_FIELDS = (
    "JobID", "User", "State", "Partition", "QOS", "Submit", "Start", "End", "ElapsedRaw", "TimelimitRaw", "NNodes",
    "NodeList", "ReqTRES", "AllocTRES", "Priority", "ExitCode", "Reason", "WorkDir", "JobName",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class JobRow:
    """One line of a list: a job, an array task, or the tasks of an array that still wait. Times as in `JobDetails`."""

    id: str
    """`12`, `12_3`, or `12_[4-9%2]` for waiting tasks in a list that is not expanded."""
    name: str
    user: str
    state: str
    partition: str
    """Several while it waits, with commas, where any of them will do."""
    qos: str
    priority: int
    submitted: int
    started: int
    ended: int
    elapsed_s: int
    time_limit_s: int | None
    node_count: int
    nodes: str
    gpus: int
    """In all, on all its nodes."""
    gpu_type: str
    reason: str
    exit_code: int
    signal: int
    folder: str

    @property
    def array_id(self) -> int | None:
        """The id of its array; None for a plain job."""
        array, mark, _ = self.id.partition("_")
        return int(array) if mark else None

    @property
    def array_task(self) -> int | None:
        _, _, task = self.id.partition("_")
        return int(task) if task.isdecimal() else None

    @property
    def over(self) -> bool:
        return self.state in ENDED


def queue_script(
    *, user: str = "", states: Iterable[str] = (), jobs: Iterable[str] = (), node: str = "", expand: bool = True
) -> str:
    """List what waits and runs. `expand` gives each waiting task of an array a row of its own."""
    which = " ".join(
        f"{option} {shlex.quote(value)}"
        for option, value in (("-u", user), ("-t", ",".join(states)), ("-j", ",".join(jobs)), ("-w", node))
        if value
    )
    separator = _new_separator()
    # GPUs per job or per task are in no short column, so all GPUs are asked for meanwhile, in few bytes.
    gpus = f"squeue -h {which} -O JobID:12,tres-alloc:120 | {_ONLY_GPUS}"
    rows = f"{_EPOCH_TIMES} squeue -h{' -r' if expand else ''} {which} -o '{_QUEUE_FORMAT.replace(' ', separator)}'"
    return f"{{ {rows} & gpus=$({gpus}); wait $! && printf '{_GPUS}%s\\n' \"$gpus\"; }}"


def history_script(*, since: int, user: str = "", states: Iterable[str] = (), jobs: Iterable[str] = ()) -> str:
    """List what accounting knows of jobs that lived after `since`, everybody's where no user is named."""
    which = f"-u {shlex.quote(user)}" if user else "-a"
    if wanted := ",".join(states):
        which += f" -E now -s {shlex.quote(wanted)}"
    if numbers := ",".join(jobs):
        which += f" -j {shlex.quote(numbers)}"
    return (
        f"{_EPOCH_TIMES} sacct -XnP --delimiter='{_new_separator()}' -S $(date -u -d @{since} +%Y-%m-%dT%H:%M:%S) "
        f"{which} -o {','.join(_HISTORY_FIELDS)}"
    )


def parse_queue(said: str) -> list[JobRow]:
    """Jobs from `queue_script`."""
    if not said.strip():
        return []
    listing, whole, known = said.rpartition(_GPUS)
    if not whole:
        raise _broken_off(said)
    in_all = {record: int(gpus) for record, gpus in (line.split(" ") for line in known.split("\n") if line)}
    # By columns rather than rows: with 10,000 jobs this is where the time goes.
    (
        ids, records, users, states, partitions, qos, submitted, started, ended, elapsed, limits, node_counts, nodes,
        gres, priorities, reasons, folders, names,
    ) = _columns(listing, _QUEUE_FORMAT.count(' ') + 1)  # fmt: skip
    counts = [_count(text) for text in node_counts]
    per_node = [_gpus_per_node(text) for text in gres]
    gpus = [
        in_all.get(record) or many[0] * count for record, many, count in zip(records, per_node, counts, strict=True)
    ]
    none = [0] * len(ids)
    return list(
        map(
            JobRow, ids, names, users, states, partitions, qos, _numbers(priorities), _numbers(submitted),
            _numbers(started), _numbers(ended), [_seconds(text) or 0 for text in elapsed],
            [_seconds(text) for text in limits], counts, nodes, gpus, [kind for _, kind in per_node],
            _reasons(reasons), none, none, folders,
        )
    )  # fmt: skip


def parse_history(said: str) -> list[JobRow]:
    """Jobs from `history_script`."""
    (
        ids, users, states, partitions, qos, submitted, started, ended, elapsed, limits, node_counts, nodes, requested,
        allocated, priorities, ends, reasons, folders, names,
    ) = _columns(said, len(_HISTORY_FIELDS))  # fmt: skip
    gpus = [_gpus_of_tres(got or wanted) for got, wanted in zip(allocated, requested, strict=True)]
    codes = [text.partition(":") for text in ends]
    return list(
        map(
            # A cancelled job's state says by whom: CANCELLED by 1000.
            JobRow, ids, names, users, [text.partition(" ")[0] for text in states], partitions, qos,
            _numbers(priorities), _numbers(submitted), _numbers(started), _numbers(ended), _numbers(elapsed),
            [int(text) * 60 if text.isdecimal() else None for text in limits], [_count(text) for text in node_counts],
            ["" if text == "None assigned" else text for text in nodes], [many for many, _ in gpus],
            [kind for _, kind in gpus], _reasons(reasons), _numbers(code for code, _, _ in codes),
            _numbers(signal for _, _, signal in codes), folders,
        )
    )  # fmt: skip


def _broken_off(end: str) -> SlurmError:
    return SlurmError(f"Slurm's list of jobs breaks off at {end[-100:]!r}. Try again")


def _new_separator() -> str:
    return f"\x1f{secrets.token_hex(3)}"


def _columns(listing: str, width: int) -> list[list[str]]:
    """The fields by column, whatever line breaks they hold: only a row's first field cannot hold one."""
    first = _SEPARATOR.search(listing)
    if first is None:
        return [[] for _ in range(width)]
    parts = listing.removesuffix("\n").split(first[0])
    step = width - 1
    if len(parts) % step != 1:
        raise _broken_off(parts[-1])
    # Between two separators lie a row's last field, a line break and the next row's first field.
    ends = [part.rpartition("\n") for part in parts[step:-1:step]]
    starts = [parts[0], *(start for _, _, start in ends)]
    last = [*(end for end, _, _ in ends), parts[-1]]
    return [starts, *(parts[column::step] for column in range(1, step)), last]


def _numbers(texts: Iterable[str]) -> list[int]:
    """Numbers, 0 for the words that stand for none."""
    return [int(text) if text.isdecimal() else 0 for text in texts]


def _reasons(texts: Iterable[str]) -> list[str]:
    return ["" if text == "None" else text for text in texts]


@lru_cache(maxsize=4096)
def _count(text: str) -> int:
    """`3`; the fewest of `2-4`; and Slurm writes 2048 as `2K`."""
    fewest = text.partition("-")[0]
    return int(float(fewest[:-1]) * 1024) if fewest.endswith("K") else int(fewest)


@lru_cache(maxsize=4096)
def _seconds(text: str) -> int | None:
    """`1-02:03:04`, `3:04`; None for UNLIMITED and the like."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


@lru_cache(maxsize=4096)
def _gpus_per_node(gres: str) -> tuple[int, str]:
    found = parse_gres(gres)
    return sum(found.values()), ",".join(kind for kind in found if kind)


@lru_cache(maxsize=4096)
def _gpus_of_tres(tres: str) -> tuple[int, str]:
    """From `cpu=4,gres/gpu=2,gres/gpu:a100=2`: the untyped count is the sum of the typed ones."""
    typed = {kind: int(count) for kind, count in _TRES_GPUS.findall(tres)}
    total = typed.pop("", 0) or sum(typed.values())
    return total, ",".join(typed)
