"""Make it true: every step probes, skips what is right, acts, and looks again.

Hosts and steps run side by side; a step waits for its own dependencies and for nothing else. What one host
fails to do is named and blocks only what depends on it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from corral.deploy.events import Emit, Event, Kind
from corral.deploy.plan import Graph, Key
from corral.deploy.probing import new_marker, probe, section
from corral.deploy.step import Change, Step
from corral.errors import HostError, Lost
from corral.hosts.base import Host

Result = Literal["ok", "changed", "failed", "blocked", "lost"]
# The act's own time limit is the change's; looking again afterwards gets this much more.
_LOOK_AGAIN_S = 15.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one step ended on one host."""

    host: str
    step: str
    result: Result
    text: str = ""


class _Failed(Exception):
    """A step's act did not lead to what was wanted."""


class Deployment:
    """One run of all steps; use once."""

    def __init__(self, graph: Graph, hosts: Mapping[str, Host], observed: Mapping[Key, str], emit: Emit) -> None:
        self._graph = graph
        self._hosts = hosts
        self._observed = observed
        self._emit = emit
        self._tasks: dict[Key, asyncio.Task[Outcome]] = {}
        self._moved: set[Key] = set()
        """Steps that changed in this run, or that depend on one that did: their first observation is stale."""
        self._lost: dict[str, str] = {}

    async def run(self) -> list[Outcome]:
        """Run every step; never raises for what a machine did or failed to do."""
        async with _cancelling(self._tasks):
            for key in self._graph.order:
                self._tasks[key] = asyncio.create_task(self._step(key))
            return list(await asyncio.gather(*self._tasks.values()))

    async def _step(self, key: Key) -> Outcome:
        host, _ = key
        for need in self._graph.needs[key]:
            before = await self._tasks[need]
            if before.result not in ("ok", "changed"):
                where = "" if need[0] == host else f" on {need[0]}"
                return self._end(key, "blocked", f"{need[1]}{where} was not done")
        if host in self._lost or host not in self._hosts:
            return self._end(key, "blocked", self._lost.get(host, "the machine is not reachable"))
        began = time.monotonic()
        try:
            changed = await self._make_true(key)
        except Lost as problem:
            first = host not in self._lost
            self._lost.setdefault(host, problem.problem)
            return self._end(key, "lost" if first else "blocked", problem.problem)
        except (_Failed, HostError) as problem:
            return self._end(key, "failed", str(problem), began)
        return self._end(key, "changed" if changed else "ok", "", began)

    async def _make_true(self, key: Key) -> bool:
        host, name = key
        step, machine = self._graph.steps[key], self._hosts[host]
        observed = self._observed[key]
        if not self._moved.isdisjoint(self._graph.needs[key]):
            self._moved.add(key)
            observed = (await probe(machine, [step]))[name]
        change = step.diff(observed)
        if change is None:
            return False
        self._emit(Event("started", host, name, change.summary))
        self._moved.add(key)
        await self._act(machine, step, change)
        return True

    async def _act(self, machine: Host, step: Step, change: Change) -> None:
        """Act and look again in one session; the probe's verdict counts, not the script's word."""
        marker = new_marker()
        script = f"(\n{change.script}\n) 2>&1 || {{ code=$?; printf '%s' {marker}; exit $code; }}\nprintf %s {marker}\n"

        acting = True

        def show(line: str) -> None:
            nonlocal acting
            # From the first marker on it is the probe that speaks, to us alone.
            acting = acting and marker not in line
            if acting and line.strip():
                self._emit(Event("output", machine.name, step.name, line))

        done = await machine.run(
            script + section(step, marker),
            stdin=change.stdin,
            timeout_s=change.timeout_s + _LOOK_AGAIN_S,
            on_line=show,
        )
        said, *rest = done.stdout.split(marker)
        if not done.ok or len(rest) != 2:
            if done.exit_code == 124:
                said += f"\nit took longer than {change.timeout_s:.0f} s"
            raise _Failed(f"{change.summary} failed: {_last_lines(said + done.stderr)}")
        still = step.diff(rest[0])
        if still is not None:
            seen = f" ({_last_lines(still.detail)})" if still.detail else ""
            raise _Failed(f"{change.summary} did not help, still to do: {still.summary}{seen}. {_last_lines(said)}")

    def _end(self, key: Key, result: Result, text: str, began: float | None = None) -> Outcome:
        seconds = 0.0 if began is None else round(time.monotonic() - began, 2)
        kind: Kind = result
        self._emit(Event(kind, *key, text, seconds))
        return Outcome(*key, result, text)


class _cancelling:  # noqa: N801 (reads as a statement)
    """Leave no task behind when the run is interrupted."""

    def __init__(self, tasks: Mapping[Key, asyncio.Task[Outcome]]) -> None:
        self._tasks = tasks

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)


def _last_lines(text: str, lines: int = 8) -> str:
    said = [line for line in text.splitlines() if line.strip()]
    return "\n".join(said[-lines:]) or "it said nothing"
