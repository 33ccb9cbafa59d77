"""How one job ran, as accounting tells it: every run of a job that was requeued, with its steps."""

from __future__ import annotations

import re
from dataclasses import dataclass

from corral.slurm.durations import parse_duration_s
from corral.slurm.tres import Tres, parse_memory_mib, parse_tres

_FIELD = "\x1f"
# The name is free text, so it comes last.
_FIELDS = (
    "JobID", "User", "Partition", "QOS", "State", "ExitCode", "Submit", "Start", "End", "Timelimit", "ReqTRES",
    "MaxRSS", "NodeList", "JobName",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One step of a run; the person's own command is one."""

    state: str
    exit_code: int
    signal: int
    peak_mib: int
    """The most memory that a task of it used, as far as it was sampled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One time that a job ran, or waited in vain. Times are 0 where there is none."""

    name: str
    user: str
    partition: str
    qos: str
    state: str
    cancelled_by: str
    """A user's number, of cancelled ones."""
    exit_code: int
    signal: int
    submitted: int
    started: int
    ended: int
    time_limit_s: int | None
    wants: Tres
    nodes: str
    steps: tuple[StepRecord, ...]


def runs_script(label: str) -> str:
    """List all runs of one job or array task; run it with `EPOCH_TIMES`."""
    return f"sacct -nPD -j {label} --delimiter='{_FIELD}' -o {','.join(_FIELDS)}"


def parse_runs(listing: str, label: str) -> list[Run]:
    """The runs from `runs_script`, the last one last."""
    runs: list[tuple[list[str], list[StepRecord]]] = []
    for line in listing.split("\n"):
        cells = line.split(_FIELD, len(_FIELDS) - 1)
        if len(cells) != len(_FIELDS):
            continue
        if cells[0] == label:
            runs.append((cells, []))
        elif cells[0].startswith(f"{label}.") and runs:
            runs[-1][1].append(_step(cells))
    return [_run(cells, tuple(steps)) for cells, steps in runs]


def _step(cells: list[str]) -> StepRecord:
    code, signal = _ended_with(cells[5])
    return StepRecord(cells[4].partition(" ")[0], code, signal, parse_memory_mib(cells[11] or "0"))


def _run(cells: list[str], steps: tuple[StepRecord, ...]) -> Run:
    _, user, partition, qos, state, ended_with, submitted, started, ended, limit, wants, _, nodes, name = cells
    code, signal = _ended_with(ended_with)
    by = re.search(r" by (\d+)", state)
    return Run(
        name=name,
        user=user,
        partition=partition,
        qos=qos,
        state=state.partition(" ")[0],
        cancelled_by=by[1] if by else "",
        exit_code=code,
        signal=signal,
        submitted=_time(submitted),
        started=_time(started),
        ended=_time(ended),
        time_limit_s=parse_duration_s(limit),
        wants=parse_tres(wants),
        nodes="" if nodes == "None assigned" else nodes,
        steps=steps,
    )


def _ended_with(text: str) -> tuple[int, int]:
    code, _, signal = text.partition(":")
    return int(code or 0), int(signal or 0)


def _time(text: str) -> int:
    return int(text) if text.isdigit() else 0
