"""How units ended: by their own record, or else by what Slurm says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corral.jobs.desk import Desk
from corral.jobs.knowledge import in_history, in_queue, read_entries
from corral.jobs.layout import JobFolder
from corral.jobs.ledger import LIVE_STATES, Entry, Known

# What a shell would say of a command that was ended like this.
_CODES = {"COMPLETED": 0, "TIMEOUT": 124, "DEADLINE": 124, "OUT_OF_MEMORY": 137, "CANCELLED": 130}


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that runs: a job, or one trial of a sweep."""

    folder: JobFolder
    trial: int | None = None

    @property
    def path(self) -> str:
        return self.folder.unit(self.trial)

    @property
    def log(self) -> str:
        return self.folder.log(self.trial)


@dataclass(frozen=True, slots=True)
class End:
    """How a unit ended: Slurm's word for it, and what a shell would see."""

    state: str
    exit_code: int
    label: str = ""
    """What people call it: `12`, or `12_3`."""

    @staticmethod
    def by_itself(code: int, label: str) -> End:
        return End("FAILED" if code else "COMPLETED", code, label)


async def outcomes(desk: Desk, units: Sequence[Unit]) -> dict[Unit, End]:
    """The ends of those units that have ended, in at most three round trips, however many there are."""
    entries = {entry.token: entry for entry in await read_entries(desk, list({unit.folder.token for unit in units}))}
    found: dict[Unit, End] = {}
    rest: list[Unit] = []
    for unit in units:
        entry = entries.get(unit.folder.token)
        if entry is None:
            # Whoever removed the folder has given the unit up, and nobody can tell any more.
            found[unit] = End("REMOVED", 1, unit.folder.token)
        elif unit.trial in entry.ended:
            found[unit] = End.by_itself(entry.ended[unit.trial], _label(entry, unit))
        else:
            rest.append(unit)
    if not rest:
        return found
    queue = await in_queue(desk)
    asked = {unit: _known_of(entries, unit, queue) for unit in rest}
    dead = [unit for unit, known in asked.items() if known is None or known.state not in LIVE_STATES]
    if not dead:
        return found
    history = await in_history(desk, [entries[unit.folder.token] for unit in dead])
    for unit in dead:
        recorded = _known_of(entries, unit, history)
        known = asked[unit] or recorded
        # Unknown to both: it is being sent again. Ended to one only: the accounting has not heard of it yet.
        if known is not None and known.state not in LIVE_STATES:
            code = recorded.exit_code if recorded else ""
            found[unit] = End(known.state, _exit_code(known.state, code), _label(entries[unit.folder.token], unit))
    return found


def _known_of(entries: dict[str, Entry], unit: Unit, known: dict[str, list[Known]]) -> Known | None:
    token = unit.folder.token
    own = [job for job in entries[token].own(known.get(token, ())) if job.trial == unit.trial]
    live = [job for job in own if job.state in LIVE_STATES]
    return (live or own)[-1] if own else None


def _label(entry: Entry, unit: Unit) -> str:
    job_id = entry.current[unit.trial].job_id
    return str(job_id) if unit.trial is None else f"{job_id}_{unit.trial}"


def _exit_code(state: str, code: str) -> int:
    if state in _CODES:
        return _CODES[state]
    own, _, signal = code.partition(":")
    return 128 + int(signal) if signal.isdigit() and int(signal) else int(own or 0) or 1
