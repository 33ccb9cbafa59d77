"""Mode `local`: every rank trains by itself, and now and then all come together (DiLoCo).

Every rank makes `every` steps with the script's own optimizer. What it has moved since the last average is its
pseudo-gradient; the mean of these over all ranks drives an outer SGD with Nesterov's momentum on the parameters that
all share. The parameters are cut into fragments whose averages are spread over the steps, and an average that begins at
step s is applied at step s + `overlap`: the link works while the ranks compute. It is applied at that very step on
every rank, whether it came early or has to be waited for, so a run does not depend on the link's mood.

The outer state lives on the CPU and travels over gloo's lanes also where the model is on a GPU: the GPU's memory and
its kernels are left to the training, and copying a fragment takes milliseconds.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from corral.inside.group import say
from corral.inside.work import usual_overlap
from corral.train.background import Background
from corral.train.exchange import Exchange, Rest
from corral.train.fragments import Fragment, cut, trained
from corral.train.lanes import Lanes

Tensor = Any

OTHER_RANKS = "mode local continues on another number of ranks: all begin with the parameters that they shared"


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """How often, in how many parts and how finely ranks come together."""

    every: int = 50
    fragments: int = 4
    overlap: int | None = None
    outer_lr: float = 0.7
    outer_momentum: float = 0.9
    bits: int = 32

    def __post_init__(self) -> None:
        if self.every < 1 or self.fragments < 1:
            raise ValueError(f"every={self.every}, fragments={self.fragments}: both must be at least 1")
        if not 0 <= self.ahead < self.every:
            raise ValueError(f"overlap={self.overlap}: must be at least 0 and less than every={self.every}")
        if self.bits not in (32, 8, 4):
            raise ValueError(f"bits={self.bits}: must be 32, 8 or 4")

    @property
    def ahead(self) -> int:
        """Steps between the begin of an average and its use."""
        return usual_overlap(self.every, self.fragments) if self.overlap is None else self.overlap


class Local:
    """One rank's part in it."""

    name = "local"

    def __init__(self, model: Any, optimizer: Any, lanes: Lanes, options: LocalOptions) -> None:
        self.model = model
        self._optimizer = optimizer
        self._lanes = lanes
        self._options = options
        self._steps = 0
        # Everybody begins with the same parameters.
        if not lanes.agree(held := [*model.parameters(), *model.buffers()]):
            lanes.broadcast(held)
        self._fragments = cut(trained(model), options.fragments)
        self._exchange = Exchange(lanes, options.bits)
        self._background = Background()

    def stepped(self) -> None:
        """The optimizer has made a step."""
        self._steps += 1
        every, count = self._options.every, len(self._fragments)
        for number, fragment in enumerate(self._fragments):
            if self._steps % every == (number + 1) * every // count % every:
                self._begin(fragment)
            if fragment.begun is not None and self._steps == fragment.begun + self._options.ahead:
                self._apply(fragment)

    def paused(self) -> contextlib.AbstractContextManager[None]:
        """Gradients are not exchanged anyway."""
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """Within it the model has the parameters that all ranks share: to evaluate or to publish it."""
        self._wait()
        own = [fragment.read() for fragment in self._fragments]
        for fragment in self._fragments:
            fragment.write(fragment.shared)
        try:
            yield
        finally:
            for fragment, values in zip(self._fragments, own, strict=True):
                fragment.write(values)

    def close(self) -> None:
        """The end: apply what is under way, then give every rank the mean of all."""
        for fragment in self._fragments:
            if fragment.begun is not None:
                self._apply(fragment)
        # Only then: the lanes belong to the other thread while something is under way.
        for fragment in self._fragments:
            mean = self._lanes.sum(fragment.read()).div_(self._lanes.size)
            fragment.write(mean)
            fragment.shared = mean
        self._background.close()

    def state_dict(self) -> dict[str, Any]:
        """What all ranks share. Waits for what is under way, so all of them have to call it."""
        self._wait()
        return {
            "ranks": self._lanes.size,
            "steps": self._steps,
            "fragments": [
                {"shared": one.shared, "momentum": one.momentum, "begun": one.begun} for one in self._fragments
            ],
        }

    def rank_state_dict(self) -> dict[str, Any]:
        """What this rank alone has: its model and optimizer, what it still has to add, and what packing left over."""
        self._wait()
        return {
            "model": self.model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "fragments": [
                {"own": one.rest.own, "merged": one.rest.merged, "pending": one.pending and one.pending.result()}
                for one in self._fragments
            ],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take what all ranks shared; `load_rank_state_dict` has to follow."""
        if len(state["fragments"]) != len(self._fragments):
            raise ValueError(f"saved with {len(state['fragments'])} fragments, now there are {len(self._fragments)}")
        self._wait()
        self._steps = state["steps"]
        for fragment, saved in zip(self._fragments, state["fragments"], strict=True):
            fragment.shared, fragment.momentum = saved["shared"].clone(), saved["momentum"].clone()
            fragment.begun, fragment.pending, fragment.rest = saved["begun"], None, Rest()

    def load_rank_state_dict(self, state: dict[str, Any] | None) -> None:
        """Go on as this very rank; without its own part, from what all ranks shared."""
        if state is None:
            self._begin_anew()
            return
        self.model.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        for fragment, saved in zip(self._fragments, state["fragments"], strict=True):
            fragment.rest = Rest(saved["own"], saved["merged"])
            fragment.pending = None if saved["pending"] is None else _done(saved["pending"])

    def follow_model(self) -> None:
        """The model was loaded from a checkpoint of another mode: everybody's shared parameters are these now."""
        self._fragments = cut(trained(self.model), self._options.fragments)

    def _begin_anew(self) -> None:
        for fragment in self._fragments:
            fragment.write(fragment.shared)
            fragment.begun = fragment.pending = None
        say(OTHER_RANKS)

    def _begin(self, fragment: Fragment) -> None:
        options, own = self._options, fragment.read()
        fragment.begun = self._steps
        fragment.pending = self._background.begin(
            lambda: fragment.average(own, self._exchange, options.outer_lr, options.outer_momentum)
        )

    def _apply(self, fragment: Fragment) -> None:
        assert fragment.pending is not None
        fragment.add(fragment.pending.result())
        fragment.begun = fragment.pending = None

    def _wait(self) -> None:
        for fragment in self._fragments:
            if fragment.pending is not None:
                fragment.pending.result()


def _done(value: Tensor) -> Future[Tensor]:
    future: Future[Tensor] = Future()
    future.set_result(value)
    return future
