"""Keeps the ranks of a training together, in one of several ways that all leave the loop as it is."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, Protocol

import torch.distributed as dist

from corral.inside.group import say
from corral.train import auto, fragments, gradients
from corral.train.alone import Alone
from corral.train.auto import Auto
from corral.train.gradients import Gradients
from corral.train.lanes import Lanes
from corral.train.local import Local, LocalOptions

MODES = ("auto", *gradients.MODES, "local")


class Way(Protocol):
    """What every mode does at which time."""

    name: str
    model: Any

    def stepped(self) -> None: ...

    def paused(self) -> contextlib.AbstractContextManager[None]: ...

    def shared(self) -> contextlib.AbstractContextManager[None]: ...

    def close(self) -> None: ...

    def state_dict(self) -> dict[str, Any]: ...

    def rank_state_dict(self) -> dict[str, Any] | None: ...

    def load_state_dict(self, state: dict[str, Any], /) -> None: ...

    def load_rank_state_dict(self, state: dict[str, Any] | None, /) -> None: ...

    def follow_model(self) -> None: ...


class Synchronizer:
    """Three lines in a script: `init()`, this, and `model = sync.model`.

    `mode` is one of auto, plain, ddp, bf16, powersgd and local; docs/training.md says when to take which. `ranks` take
    part (all by default; all must make the object). `every`, `fragments`, `overlap`, `outer_lr`, `outer_momentum` and
    `bits` are for mode local: how many steps lie between two averages of the same parameters, in how many parts these
    are averaged in turn, how many steps an average may take, the outer optimizer's settings, and the bits of an
    exchanged number (32, 8 or 4).
    """

    def __init__(
        self, model: Any, optimizer: Any, mode: str = "auto", *, ranks: Sequence[int] | None = None,
        lanes: int | None = None, every: int = 50, fragments: int = 4, overlap: int | None = None,
        outer_lr: float = 0.7, outer_momentum: float = 0.9, bits: int = 32,
    ) -> None:  # fmt: skip
        if mode not in MODES:
            raise ValueError(f"mode {mode!r}: must be one of {', '.join(MODES)}")
        options = LocalOptions(every, fragments, overlap, outer_lr, outer_momentum, bits)
        self._lanes: list[Lanes] = []
        self._way: Way = self._begin(model, optimizer, mode, ranks, lanes, options)
        self._saved: dict[str, Any] = {}
        self._hook = optimizer.register_step_post_hook(lambda *_: self._way.stepped())

    @property
    def mode(self) -> str:
        """The mode at work; `auto` until it has been chosen."""
        return self._way.name

    @property
    def model(self) -> Any:
        """What the loop calls instead of the model."""
        return self._way.model

    def no_sync(self) -> contextlib.AbstractContextManager[None]:
        """For all but the last of the backward passes whose gradients are accumulated."""
        return self._way.paused()

    def shared(self) -> contextlib.AbstractContextManager[None]:
        """Within it the model has the same parameters on all ranks: to evaluate it, or to save it as a result.

        In mode local these are the shared ones and the ranks' own come back afterwards; elsewhere nothing changes.
        """
        return self._way.shared()

    def close(self) -> None:
        """The end of training: afterwards the model has the same parameters on all ranks in every mode."""
        self._hook.remove()
        self._way.close()
        for lanes in self._lanes:
            lanes.close()
        self._lanes = []

    def state_dict(self) -> dict[str, Any]:
        """What is the same on all ranks; each rank's own is `rank_state_dict`. `corral.checkpoint` saves both."""
        return {"mode": self.mode, "state": self._way.state_dict()}

    def rank_state_dict(self) -> dict[str, Any] | None:
        """What this rank alone has, if the mode has such a thing."""
        return self._way.rank_state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Begin to continue; the model and the optimizer are loaded too before `load_rank_state_dict` follows."""
        self._saved = state
        if isinstance(self._way, Auto) and state["mode"] in auto.CHOICES:
            self._way.take(state["mode"])
        if self._is_same_mode():
            self._way.load_state_dict(state["state"])

    def load_rank_state_dict(self, state: dict[str, Any] | None) -> None:
        """Continue exactly; with None, as well as it is possible with other ranks than before."""
        if self._is_same_mode():
            self._way.load_rank_state_dict(state)
            return
        if self._saved:
            say(f"saved in mode {self._saved['mode']}, continues in mode {self.mode}")
            saved = self._saved["state"].get("fragments")
            if saved is not None:
                fragments.write_shared(self.model, saved)
        self._way.follow_model()

    def _is_same_mode(self) -> bool:
        # Who was alone has saved nothing of the mode.
        return bool(self._saved) and self._saved["mode"] == self.mode and self._saved["state"]["ranks"] > 1

    def _begin(
        self, model: Any, optimizer: Any, mode: str, ranks: Sequence[int] | None, lanes: int | None,
        options: LocalOptions,
    ) -> Way:  # fmt: skip
        everybody = dist.get_world_size() if dist.is_initialized() else 1
        if (everybody if ranks is None else len(ranks)) == 1:
            return Alone(model, mode)

        def open_lanes(backend: str | None) -> Lanes:
            self._lanes.append(Lanes(ranks, lanes, backend))
            return self._lanes[-1]

        if mode == "local":
            between = open_lanes("gloo")
            return Local(model, optimizer, between, options) if between.takes_part else Alone(model, mode)
        between = open_lanes(None)
        if not between.takes_part:
            return Alone(model, mode)
        if mode == "auto":
            return Auto(model, optimizer, between, lambda: open_lanes("gloo"), options)
        return Gradients(model, mode, between)
