"""Slurm's states and lengths of time as people say them."""

from __future__ import annotations

from collections.abc import Mapping

_STATES = {
    "PENDING": "waiting",
    "COMPLETED": "done",
    "COMPLETING": "ending",
    "CONFIGURING": "starting",
    "OUT_OF_MEMORY": "out of memory",
    "TIMEOUT": "time limit",
    "NODE_FAIL": "node failed",
    "BOOT_FAIL": "node failed",
    "REQUEUE_HOLD": "held",
    "SPECIAL_EXIT": "held",
}


def state_word(state: str) -> str:
    """`waiting` for PENDING."""
    return _STATES.get(state) or state.lower().replace("_", " ")


def counted(counts: Mapping[str, int]) -> str:
    """`3 running, 95 waiting, 2 done`."""
    order = ("RUNNING", "PENDING")
    states = [*(state for state in order if state in counts), *sorted(set(counts) - set(order))]
    return ", ".join(f"{counts[state]} {state_word(state)}" for state in states)


def clock(seconds: int) -> str:
    """`1-02:03:04`, `2:03:04` or `3:04`, as Slurm writes a length of time."""
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    if days:
        return f"{days}-{hours:02}:{minutes:02}:{rest:02}"
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def span(seconds: float) -> str:
    """A length of time in a sentence: `40 s`, `25 min`, `3 h 20 min`, `2 days 4 h`."""
    whole = max(0, round(seconds))
    if whole < 100:
        return f"{whole} s"
    minutes = round(whole / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} days {hours} h" if hours else f"{days} days"


def size(mebibytes: float) -> str:
    """`700 MiB`, `7.2 GiB`."""
    return f"{mebibytes / 1024:.1f} GiB" if mebibytes >= 1000 else f"{mebibytes:.0f} MiB"


def amount(count: int, one: str, many: str = "") -> str:
    """`1 GPU`, `2 GPUs`."""
    return f"{count} {one if count == 1 else many or f'{one}s'}"
