"""What people are told: one sentence, what belongs to it, and what they can do."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass

from corral.jobs.words import span


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a job waits, runs or ended."""

    job: str
    name: str
    state: str
    headline: str
    details: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    expected_start: int | None = None
    """Seconds since 1970, where Slurm has an estimate."""
    log_title: str = ""
    log: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def at(moment: int, now: int) -> str:
    """`11:40 (in 25 min)`, with the day where it is not today's."""
    here = time.localtime(moment)
    today = here[:3] == time.localtime(now)[:3]
    text = time.strftime("%H:%M" if today else "%a %d %b %H:%M", here)
    away = moment - now
    return f"{text} (in {span(away)})" if away >= 0 else f"{text} ({span(-away)} ago)"
