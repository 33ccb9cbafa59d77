"""Waiting for many jobs at once: however many are awaited, the cluster is asked for all of them together."""

from __future__ import annotations

import asyncio

from corral.jobs.desk import Desk
from corral.jobs.outcome import End, Unit, outcomes

_FAST_S, _SLOW_S = 0.1, 1.5


class Poller:
    """Lives on the background loop."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._awaited: dict[Unit, asyncio.Future[End]] = {}
        self._task: asyncio.Task[None] | None = None

    async def end_of(self, unit: Unit) -> End:
        """How the unit ended, when it has."""
        if unit not in self._awaited:
            self._awaited[unit] = asyncio.get_running_loop().create_future()
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._poll())
        return await asyncio.shield(self._awaited[unit])

    async def close(self) -> None:
        """Stop asking; whoever still waits is told that nobody will."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        for future in self._awaited.values():
            future.cancel()

    async def _poll(self) -> None:
        pause = _FAST_S
        while self._awaited:
            waiting = list(self._awaited)
            try:
                found = await outcomes(self._desk, waiting)
            except Exception as problem:
                # Whatever it is, somebody waits for it.
                for unit in waiting:
                    self._awaited.pop(unit).set_exception(problem)
                continue
            for unit, end in found.items():
                # Forgotten here, because a job that is sent again ends again.
                self._awaited.pop(unit).set_result(end)
            pause = _FAST_S if found else min(_SLOW_S, pause * 1.3)
            await asyncio.sleep(pause)
