"""One operator at a time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from corral.errors import LockedError
from corral.workflows.lock import hold_here


def test_a_held_lock_names_its_holder_and_is_free_afterwards(tmp_path: Path) -> None:
    with hold_here(tmp_path), pytest.raises(LockedError, match=f"pid {os.getpid()}"), hold_here(tmp_path):
        pass
    with hold_here(tmp_path):
        pass
