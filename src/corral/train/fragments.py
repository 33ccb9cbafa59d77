"""A model's parameters in parts of even size, each averaged in its turn, so that the link always has a little to do."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import torch

from corral.train.exchange import Exchange, Rest

Tensor = Any


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of one parameter's memory."""

    parameter: Tensor
    start: int
    stop: int

    @property
    def memory(self) -> Tensor:
        """The numbers themselves, in the order in which they lie, whatever the parameter's shape and layout."""
        data = self.parameter.data
        return data.as_strided((data.numel(),), (1,))[self.start : self.stop]


@dataclass(slots=True)
class Fragment:
    """What is averaged at one time, and the outer optimizer's state for it: kept on the CPU, beside the link."""

    pieces: Sequence[Piece]
    shared: Tensor = field(init=False)
    """The parameters that all ranks agree on."""
    momentum: Tensor = field(init=False)
    rest: Rest = field(default_factory=Rest)
    begun: int | None = None
    """The step at which the average that is under way was begun."""
    pending: Future[Tensor] | None = None
    """What this rank has to add to its parameters once that average is due."""

    def __post_init__(self) -> None:
        self.shared = self.read()
        self.momentum = torch.zeros_like(self.shared)

    def read(self) -> Tensor:
        """This rank's own parameters, copied to the CPU."""
        first = self.pieces[0].parameter
        wide = torch.float64 if first.dtype == torch.float64 else torch.float32
        together = torch.cat([piece.memory.to(wide) for piece in self.pieces])
        if not first.is_cuda:
            return together
        # Memory that stays where it is: the GPU writes it several times as fast.
        return torch.empty_like(together, device="cpu", pin_memory=True).copy_(together)

    def write(self, values: Tensor) -> None:
        """Make these this rank's parameters."""
        for piece, part in zip(self.pieces, self._split(values), strict=True):
            piece.memory.copy_(part)

    def add(self, correction: Tensor) -> None:
        moved = correction.to(self.pieces[0].parameter.device)
        for piece, part in zip(self.pieces, self._split(moved), strict=True):
            piece.memory.add_(part)

    def average(self, own: Tensor, exchange: Exchange, lr: float, momentum: float) -> Tensor:
        """One step of the outer optimizer (SGD with Nesterov's momentum) on the ranks' mean pseudo-gradient.

        Returns what lies between the new shared parameters and the rank's own of when it began. Added to the rank's
        parameters of now, it keeps the steps that were made meanwhile: they count in the next average.
        """
        gradient = exchange.mean(self.shared - own, self.rest)
        self.momentum.mul_(momentum).add_(gradient)
        self.shared.sub_(gradient.add_(self.momentum, alpha=momentum), alpha=lr)
        return torch.sub(self.shared, own, out=own)

    def _split(self, values: Tensor) -> Sequence[Tensor]:
        pieces: Sequence[Tensor] = values.split([piece.stop - piece.start for piece in self.pieces])
        return pieces


def cut(parameters: Sequence[Tensor], count: int) -> list[Fragment]:
    """The parameters in so many fragments of even size; large ones are cut."""
    total = sum(parameter.numel() for parameter in parameters)
    ends = [total * (number + 1) // count for number in range(count)]
    fragments: list[list[Piece]] = [[] for _ in ends]
    at = 0
    for parameter in parameters:
        _check(parameter)
        start = 0
        while start < parameter.numel():
            number = next(number for number, end in enumerate(ends) if at < end)
            stop = min(parameter.numel(), start + ends[number] - at)
            fragments[number].append(Piece(parameter, start, stop))
            at, start = at + stop - start, stop
    return [Fragment(pieces) for pieces in fragments if pieces]


def trained(model: Any) -> list[Tensor]:
    """The parameters that are averaged."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def write_shared(model: Any, saved: Sequence[dict[str, Any]]) -> None:
    """Give a model the parameters that the ranks of mode local shared when they were saved."""
    for fragment, state in zip(cut(trained(model), len(saved)), saved, strict=True):
        fragment.write(state["shared"])


def _check(parameter: Tensor) -> None:
    dense = parameter.is_contiguous() or (
        parameter.dim() == 4 and parameter.is_contiguous(memory_format=torch.channels_last)
    )
    if not dense:
        raise ValueError(
            f"mode local: a parameter of shape {tuple(parameter.shape)} does not lie in memory as one stretch; "
            "give the model contiguous parameters"
        )
