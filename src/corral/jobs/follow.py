"""Watching one unit: what it has printed since, and what has become of it.

Polled by position, so a connection that broke goes on where it stopped, and Slurm's controller is asked
only now and then: how a unit ended is written in its folder.
"""

from __future__ import annotations

import asyncio
import base64
import shlex
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

from corral.jobs.desk import Desk
from corral.jobs.ledger import LIVE_STATES
from corral.jobs.outcome import End, Unit, outcomes

_CHUNK = 256 * 1024
_FAST_S, _SLOW_S = 0.1, 1.0
_ASK_SLURM_S = 2.0


@dataclass(frozen=True, slots=True)
class Glance:
    """What one look told."""

    output: bytes
    state: str = ""
    """Slurm's word and reason, where it was asked."""
    end: End | None = None


class Watcher:
    """Looks at a unit's output, or at one of its ranks', again and again."""

    def __init__(self, desk: Desk, unit: Unit, rank: int | None = None) -> None:
        self._desk, self._unit = desk, unit
        self._log = unit.log if rank is None else unit.folder.rank_log(rank, unit.trial)
        self._offset = 0
        self._asked_at = 0.0

    async def glance(self) -> Glance:
        """Look once."""
        ask_slurm = time.monotonic() - self._asked_at >= _ASK_SLURM_S
        said = await self._desk.must(self._script(ask_slurm=ask_slurm))
        if ask_slurm:
            self._asked_at = time.monotonic()
        label, state, ended, size, *rest = said.split("\n")
        output = base64.b64decode("".join(rest))
        self._offset += len(output)
        if self._offset < int(size):
            return Glance(output, state)
        if ended:
            return Glance(output, state, End.by_itself(int(ended), label))
        if not ask_slurm or label.startswith("0") or state.split(" ")[0] in LIVE_STATES:
            return Glance(output, state)
        return Glance(output, state, (await outcomes(self._desk, [self._unit])).get(self._unit))

    def _script(self, *, ask_slurm: bool) -> str:
        task = "" if self._unit.trial is None else f"_{self._unit.trial}"
        ask = f"squeue -h -t all -j ${{id}}{task} -o '%T %r' 2>/dev/null | tail -n 1" if ask_slurm else "true"
        return f"""
cd {shlex.quote(self._unit.folder.path)} || exit 1
id=$(awk '$2 > 0 {{ id = $2 }} END {{ print id + 0 }}' submitted)
echo "${{id}}{task}"
{ask} | {{ read -r line; echo "$line"; }}
cat {shlex.quote(self._unit.path)}/ended 2>/dev/null || echo
log={shlex.quote(self._log)}
size=$(stat -c %s "$log" 2>/dev/null || echo 0)
echo "$size"
[ "$size" -le {self._offset} ] || tail -c +{self._offset + 1} "$log" | head -c {_CHUNK} | base64
"""


async def follow(desk: Desk, unit: Unit, rank: int | None = None) -> AsyncIterator[Glance]:
    """Look until the unit has ended; the last glance says how."""
    watcher = Watcher(desk, unit, rank)
    pause = _FAST_S
    while True:
        glance = await watcher.glance()
        yield glance
        if glance.end is not None:
            return
        # Often while something happens, seldom while nothing does.
        pause = _FAST_S if glance.output else min(_SLOW_S, pause * 1.15)
        await asyncio.sleep(pause)
