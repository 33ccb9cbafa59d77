"""The processes that measure together: which of them take part in a row, and how they agree."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch

from corral import train

_PATIENCE = timedelta(hours=2)
"""Whoever has no part in a row waits for it, however slow the link is."""


@dataclass(frozen=True)
class Peers:
    """All ranks of the job. Their talk goes over gloo, in which waiting costs no processor time."""

    rank: int
    size: int
    device: Any
    backend: str
    unit: int
    """Ranks that count as one: those of a node; on one node alone every rank is counted."""
    groups: dict[int, Any]

    @classmethod
    def meet(cls) -> Peers:
        """All ranks meet; a process that nobody started with others is alone."""
        run = train.init()
        if run.size == 1:
            return cls(0, 1, run.device, "", 1, {})
        here = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        unit = here if here < run.size else 1
        groups = {
            count: torch.distributed.new_group(range(count * unit), backend="gloo", timeout=_PATIENCE)
            for count in range(1, run.size // unit + 1)
        }
        return cls(run.rank, run.size, run.device, run.backend, unit, groups)

    @property
    def first(self) -> bool:
        return self.rank == 0

    @property
    def most(self) -> int:
        """How many there are to count."""
        return self.size // self.unit

    def ranks(self, count: int) -> list[int]:
        return list(range(count * self.unit))

    def takes_part(self, count: int) -> bool:
        return self.rank < count * self.unit

    def slowest(self, taken: float, count: int) -> float:
        """The highest value of those that take part; also where they wait for each other."""
        if count * self.unit == 1:
            return taken
        value = torch.tensor([taken], dtype=torch.float64)
        torch.distributed.all_reduce(value, op=torch.distributed.ReduceOp.MAX, group=self.groups[count])
        return float(value.item())

    def wait(self) -> None:
        """For all, those without a part included."""
        if self.size > 1:
            torch.distributed.barrier(group=self.groups[self.most])

    def part(self) -> None:
        """Leave together: a peer that goes first would look like a failure to the others."""
        if self.size > 1:
            self.wait()
            torch.distributed.destroy_process_group()
