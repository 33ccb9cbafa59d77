"""Comparing what is made now with what was found right once."""

from __future__ import annotations

import os
from pathlib import Path


def assert_golden(path: Path, content: bytes) -> None:
    """Compare with the golden file; `UPDATE_GOLDEN=1 pytest …` writes it, to be read in the diff."""
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    assert content.decode() == path.read_text(), path
