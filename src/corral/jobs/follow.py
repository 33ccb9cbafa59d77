"""Watching one unit: what it has printed since, and what has become of it.

Polled by position, so a connection that broke goes on where it stopped, and Slurm's controller is asked
only now and then: how a job ended is written in its folder.
"""

from __future__ import annotations

import asyncio
import base64
import shlex
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

from corral.jobs.desk import Desk
from corral.jobs.layout import JobFolder
from corral.jobs.ledger import LIVE_STATES

_CHUNK = 256 * 1024
_FAST_S, _SLOW_S = 0.15, 1.0
_ASK_SLURM_S = 2.0
_CODES = {"TIMEOUT": 124, "DEADLINE": 124, "OUT_OF_MEMORY": 137, "CANCELLED": 130}


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that runs: a job, or one trial of a sweep."""

    folder: JobFolder
    trial: int | None = None
    rank: int | None = None
    """Watch the output of this rank alone."""

    @property
    def log(self) -> str:
        if self.rank is not None:
            return self.folder.rank_log(self.rank, self.trial)
        return self.folder.log(self.trial)


@dataclass(frozen=True, slots=True)
class End:
    """How a unit ended: Slurm's word for it, and what a shell would see."""

    state: str
    exit_code: int
    job_id: str = ""


@dataclass(frozen=True, slots=True)
class Glance:
    """What one look told."""

    output: bytes
    state: str = ""
    """Slurm's word and reason, where it was asked."""
    end: End | None = None


def _script(unit: Unit, offset: int, *, ask_slurm: bool) -> str:
    task = "" if unit.trial is None else f"_{unit.trial}"
    folder = shlex.quote(unit.folder.path)
    ask = f"squeue -h -t all -j $id{task} -o '%T %r' 2>/dev/null | tail -n 1" if ask_slurm else "true"
    return f"""
cd {folder} || exit 1
id=$(awk '$2 > 0 {{ id = $2 }} END {{ print id + 0 }}' submitted)
echo "$id"
{ask} | {{ read -r line; echo "$line"; }}
cat {shlex.quote(unit.folder.unit(unit.trial))}/ended 2>/dev/null || echo
log={shlex.quote(unit.log)}
size=$(stat -c %s "$log" 2>/dev/null || echo 0)
echo "$size"
[ "$size" -le {offset} ] || tail -c +{offset + 1} "$log" | head -c {_CHUNK} | base64
"""


class Watcher:
    """Looks at a unit again and again."""

    def __init__(self, desk: Desk, unit: Unit) -> None:
        self._desk, self._unit = desk, unit
        self._offset = 0
        self._asked_at = 0.0

    async def glance(self) -> Glance:
        """Look once."""
        ask_slurm = time.monotonic() - self._asked_at >= _ASK_SLURM_S
        said = await self._desk.must(_script(self._unit, self._offset, ask_slurm=ask_slurm))
        if ask_slurm:
            self._asked_at = time.monotonic()
        job_id, state, ended, size, *rest = said.split("\n")
        output = base64.b64decode("".join(rest))
        self._offset += len(output)
        if self._offset < int(size):
            return Glance(output, state)
        label = job_id if self._unit.trial is None else f"{job_id}_{self._unit.trial}"
        if ended:
            return Glance(output, state, End("COMPLETED" if ended == "0" else "FAILED", int(ended), label))
        if not ask_slurm or job_id == "0" or state.split(" ")[0] in LIVE_STATES:
            return Glance(output, state)
        return Glance(output, state, await self._last_word(label, state.split(" ")[0]))

    async def _last_word(self, label: str, state: str) -> End | None:
        """How it ended, of a unit that did not get to write it down itself."""
        said = await self._desk.must(f"sacct -nXPD -j {label} -o state,exitcode | tail -n 1", timeout_s=30)
        recorded, _, code = said.strip().partition("|")
        word = (state or recorded).split(" ")[0]
        if word in LIVE_STATES or not word:
            # Slurm does not know it: the keeper sends it again, or the accounting has not heard of its end yet.
            return None
        return End(word, _exit_code(word, code), label)


def _exit_code(state: str, code: str) -> int:
    if state in _CODES:
        return _CODES[state]
    own, _, signal = (code or "1:0").partition(":")
    return (128 + int(signal)) if int(signal or 0) else (int(own) or (0 if state == "COMPLETED" else 1))


async def follow(desk: Desk, unit: Unit) -> AsyncIterator[Glance]:
    """Look until the unit has ended; the last glance says how."""
    watcher = Watcher(desk, unit)
    pause = _FAST_S
    while True:
        glance = await watcher.glance()
        yield glance
        if glance.end is not None:
            return
        # Often while something happens, seldom while nothing does.
        pause = _FAST_S if glance.output else min(_SLOW_S, pause * 1.15)
        await asyncio.sleep(pause)
