"""Lanes: several process groups over the same ranks, so that a slow link is full.

One all-reduce of gloo's waits for its neighbours again and again; how much of a link that leaves unused depends on the
machines. Cut into as many pieces as there are lanes, each on a group of its own, the waits of one are the work of the
others.
NCCL does the same inside one group by socket threads (see `start.py`), so there one lane is enough.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist

Tensor = Any

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
        self.takes_part = dist.get_rank() in self.ranks
        wanted = count or (GLOO_LANES if self.backend == "gloo" else 1)
        self.groups = [dist.new_group(self.ranks, backend=self.backend) for _ in range(wanted)]

    @property
    def position(self) -> int:
        """Of this process among the ranks that take part."""
        return self.ranks.index(dist.get_rank())

    def all_reduce(self, tensor: Tensor) -> Any:
        """Begin to sum a contiguous tensor in place; the future's value is the tensor."""
        works = self._summing(tensor)
        if len(works) == 1:
            return works[0].get_future().then(lambda done: (done.value(), tensor)[1])
        return torch.futures.collect_all([work.get_future() for work in works]).then(
            lambda done: _all_well(done, tensor)
        )

    def sum(self, tensor: Tensor) -> Tensor:
        """Sum a contiguous tensor in place, and wait for it.

        No thread of gloo's has Python to run or to let go of for it, so that a script may end right afterwards.
        """
        for work in self._summing(tensor):
            work.wait()
        return tensor

    def _summing(self, tensor: Tensor) -> list[Any]:
        pieces = self._pieces(tensor.view(-1))
        return [dist.all_reduce(piece, group=group, async_op=True) for piece, group in pieces]

    def all_to_all(self, rows: Tensor) -> Tensor:
        """Send row i to the i-th rank; return the rows that were sent here, by rank. Waits for them.

        To one rank and from one rank at a time: where several send to one at once, its slow link drops what comes
        together, and TCP waits before it sends again.
        """
        received = torch.empty(rows.shape, dtype=rows.dtype)
        received[self.position] = rows[self.position]
        for distance in range(1, self.size):
            to, source = (self.position + distance) % self.size, (self.position - distance) % self.size
            works = []
            for (sent, group), (into, _) in zip(self._pieces(rows[to]), self._pieces(received[source]), strict=True):
                works.append(dist.irecv(into, self.ranks[source], group=group))
                works.append(dist.isend(sent, self.ranks[to], group=group))
            for work in works:
                work.wait()
        return received

    def agree(self, tensors: Sequence[Tensor]) -> bool:
        """Whether everybody has the same values, by their checksum: what has not to be sent starts at once."""
        total = 0
        try:
            for tensor in tensors:
                raw = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
                total = zlib.crc32(raw.numpy(), total)
        except RuntimeError:  # without NumPy there is no fast way to the bytes
            total = -1 - dist.get_rank()
        device = "cpu" if self.backend == "gloo" else "cuda"
        extremes = torch.tensor([total, -total], dtype=torch.int64, device=device)
        dist.all_reduce(extremes, op=dist.ReduceOp.MAX, group=self.groups[0])
        highest, lowest = extremes.tolist()
        return bool(highest == -lowest)

    def broadcast(self, tensors: Sequence[Tensor]) -> None:
        """Give everybody the first rank's values, whatever device they are on."""
        for tensor in tensors:
            carried = tensor.detach().cpu() if self.backend == "gloo" else tensor.detach()
            dist.broadcast(carried, src=self.ranks[0], group=self.groups[0])
            tensor.detach().copy_(carried)

    def close(self) -> None:
        """Let the groups go, when everybody has come so far."""
        if self.takes_part:
            dist.barrier(group=self.groups[0])
        while self.takes_part and self.groups:
            dist.destroy_process_group(self.groups.pop())

    def _pieces(self, flat: Tensor) -> list[tuple[Tensor, Any]]:
        count = max(1, min(len(self.groups), len(flat) * flat.element_size() // _LEAST_BYTES))
        return list(zip(flat.tensor_split(count), self.groups, strict=False))


def _all_well(done: Any, tensor: Tensor) -> Tensor:
    for one in done.value():
        one.wait()  # raises what went wrong there
    return tensor
