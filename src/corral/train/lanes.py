"""Lanes: several process groups over the same ranks, each carrying its share of a tensor at the same time.

One gloo group works on one message at a time, over one connection to each neighbour; where that leaves a link idle,
several keep it full. NCCL has sockets and threads of its own for that, so it gets one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist

GLOO_LANES = 4
_LEAST_BYTES = 1 << 20
"""Of a lane's share. Measured at 2.5 Gbit/s: four lanes take 4 times as long for 64 KiB, and twice as long for 1 MiB,
because every lane's threads have to wake up at every step of the ring."""


class Lanes:
    """Groups of the same ranks. All ranks of the job must make it, also those that do not take part."""

    def __init__(
        self, ranks: Sequence[int] | None = None, count: int | None = None, backend: str | None = None
    ) -> None:
        self.backend = backend or dist.get_backend()
        self.ranks = sorted(range(dist.get_world_size()) if ranks is None else ranks)
        self.size = len(self.ranks)
        wanted = count or (GLOO_LANES if self.backend == "gloo" else 1)
        self.groups = [dist.new_group(self.ranks, backend=self.backend) for _ in range(wanted)]

    def all_reduce(self, tensor: Any) -> Any:
        """Begin to sum a contiguous tensor in place; a future."""
        flat = tensor.view(-1)
        count = max(1, min(len(self.groups), flat.numel() * flat.element_size() // _LEAST_BYTES))
        works = [
            dist.all_reduce(piece, group=group, async_op=True)
            for piece, group in zip(flat.tensor_split(count), self.groups, strict=False)
        ]
        return torch.futures.collect_all([work.get_future() for work in works])
