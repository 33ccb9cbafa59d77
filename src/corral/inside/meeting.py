"""Where a job's ranks have to agree: which checkpoint they continue from, and at which step they save or stop."""

from __future__ import annotations

import time
from pathlib import Path

from corral.inside import files, group
from corral.inside.group import say

_EVERY_S = 1.0
_VISIBLE_S = 60.0  # how long another machine's file may take to be seen over NFS


class Meeting:
    """The safe points at which ranks talk: about one a second, the next one agreed on at the last."""

    def __init__(self) -> None:
        self._next = 0
        self._ahead = 1
        self._last: tuple[int, float] | None = None  # point and time of the last one

    def is_due(self, point: int) -> bool:
        return point >= self._next

    def agree(self, point: int, stop: bool, save: bool) -> tuple[bool, bool]:
        """Whether any rank wants to stop, and whether any wants to save. Every rank gets the same answer."""
        now = time.monotonic()
        pace = (point - self._last[0]) / max(now - self._last[1], 1e-6) if self._last else 0.0
        # Growing slowly, so that some fast steps do not delay the next meeting among slow ones.
        ahead = max(1, min(int(pace * _EVERY_S), 2 * self._ahead))
        high = group.highest([int(stop), int(save), -ahead, point, -point])
        if high[3] != -high[4]:
            raise RuntimeError(f"ranks are at different steps, {-high[4]} to {high[3]}: they cannot be saved together")
        self._ahead = -high[2]
        self._next = point + self._ahead
        self._last = (point, time.monotonic())
        return bool(high[0]), bool(high[1])


def choose(folder: Path, before: int | None = None) -> files.Saved | None:
    """The newest whole checkpoint, perhaps before some number; with torch.distributed the one that rank 0 sees."""
    if group.size() == 1:
        return _newest_whole(folder, before)
    chosen = _newest_whole(folder, before) if group.rank() == 0 else None
    number, total = group.highest([chosen.number, int(chosen.sum, 16)] if chosen else [-1, -1])
    until = time.monotonic() + _VISIBLE_S
    while number >= 0 and chosen is None:
        same = (saved for saved in files.saved_in(folder) if (saved.number, int(saved.sum, 16)) == (number, total))
        chosen = next((saved for saved in same if saved.is_whole()), None)
        if chosen is None:
            if time.monotonic() > until:
                raise RuntimeError(f"rank {group.rank()} does not see checkpoint {number} of rank 0 in {folder}")
            time.sleep(0.2)
    return chosen


def _newest_whole(folder: Path, before: int | None) -> files.Saved | None:
    for saved in files.saved_in(folder):
        if before is not None and saved.number >= before:
            continue
        if saved.is_whole():
            return saved
        say(f"skipped {saved.path}: it is damaged or was not written to its end")
    return None
