"""What each rank has of its own in a checkpoint: in a file that the rank itself writes beside rank 0's.

Registered objects with `rank_state_dict` and `load_rank_state_dict` have such a part, as `corral.train.Synchronizer`
does: gigabytes that would otherwise travel to rank 0 and back. Rank 0's file holds the names of all parts, which have
their checksums in them, so it is whole only together with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corral.inside import files, group


def save(folder: Path, number: int, values: Mapping[str, Any]) -> str:
    """Write this rank's part; its name, or nothing where nobody has one."""
    own = {name: state for name, value in _with_parts(values) if (state := value.rank_state_dict()) is not None}
    return files.save(folder, number, own, rank=group.rank()).path.name if own else ""


def chosen(folder: Path, names: list[str]) -> files.Saved | None:
    """This rank's part of a checkpoint with these parts; none if there were other ranks."""
    name = names[group.rank()] if len(names) == group.size() else ""
    return files.part(folder / name) if name else None


def are_whole(own: files.Saved | None) -> bool:
    """Whether every rank's part is. All ranks have to ask."""
    return not group.highest([int(own is not None and not own.is_whole())])[0]


def load(own: files.Saved | None, values: Mapping[str, Any]) -> None:
    """Bring objects with parts to where they were, after everything else has been loaded."""
    states = own.load() if own is not None else {}
    for name, value in _with_parts(values):
        value.load_rank_state_dict(states.get(name))


def _with_parts(values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [pair for pair in values.items() if hasattr(pair[1], "rank_state_dict")]
