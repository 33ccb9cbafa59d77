"""A training of one process: nobody to keep together with, whatever the mode."""

from __future__ import annotations

import contextlib
from typing import Any

from corral.inside.group import say
from corral.train import fragments
from corral.train.local import OTHER_RANKS


class Alone:
    """Leaves everything as it is."""

    def __init__(self, model: Any, mode: str) -> None:
        self.name = "plain" if mode == "auto" else mode
        self.model = model
        self._saved: list[dict[str, Any]] | None = None

    def stepped(self) -> None:
        """Nothing to do."""

    def paused(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def shared(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def close(self) -> None:
        """Nothing to do."""

    def state_dict(self) -> dict[str, Any]:
        return {"ranks": 1}

    def rank_state_dict(self) -> dict[str, Any] | None:
        return None

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._saved = state.get("fragments")

    def load_rank_state_dict(self, _state: dict[str, Any] | None) -> None:
        if self._saved is not None:
            fragments.write_shared(self.model, self._saved)
            say(OTHER_RANKS)

    def follow_model(self) -> None:
        """Nothing to do."""
