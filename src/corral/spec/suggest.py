"""The endings of error messages: what would have been right."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """The ending that names the nearest choice, or nothing where none is near."""
    folded = {choice.lower(): choice for choice in choices}
    near = difflib.get_close_matches(word.lower(), folded, n=1)
    return f"; did you mean '{folded[near[0]]}'?" if near else ""


def some(names: Collection[str]) -> str:
    """The names, or the first few of many."""
    listed = list(names)
    return ", ".join(listed[:8]) + (f" and {len(listed) - 8} more" if len(listed) > 8 else "")
