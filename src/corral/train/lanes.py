"""Lanes: several process groups over the same ranks, each carrying its share of a tensor at the same time.

One gloo group works on one message at a time and leaves a slow link idle while it adds; four of them keep it full.
NCCL has sockets and threads of its own for that (`NCCL_SOCKET_NTHREADS`, `NCCL_NSOCKS_PERTHREAD`), so it gets one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

LANES = 4
"""On gloo: measured to fill 2.5 Gbit/s, where one reaches a third to a half."""

LEAST_BYTES = 1 << 16
"""A tensor that is smaller goes by one lane: cutting it up would cost more than it brings."""

_SOCKETS = {"NCCL_SOCKET_NTHREADS": "4", "NCCL_NSOCKS_PERTHREAD": "4"}


class Work:
    """What is under way on the lanes; `wait` when its result is needed."""

    def __init__(self, parts: Sequence[Any], finish: Callable[[], None] | None = None) -> None:
        self._parts, self._finish = parts, finish

    def wait(self) -> None:
        for part in self._parts:
            part.wait()
        if self._finish is not None:
            self._finish()
            self._finish = None

    def future(self) -> Any:
        """A torch future that is done when all parts are, as hooks of DistributedDataParallel want it."""
        return torch.futures.collect_all([part.get_future() for part in self._parts])


class Lanes:
    """Collectives over all lanes at once. Every rank of the job has to make it, also those that are not in it."""

    def __init__(
        self, count: int | None = None, ranks: Sequence[int] | None = None, backend: str | None = None
    ) -> None:
        backend = backend or dist.get_backend()
        members = list(range(dist.get_world_size()) if ranks is None else ranks)
        self.count = count or (1 if backend == "nccl" else LANES)
        self.groups = [dist.new_group(members, backend=backend) for _ in range(self.count)]
        self.size = len(members)
        self.rank = members.index(dist.get_rank()) if dist.get_rank() in members else -1
        self._members = members

    def all_reduce(self, tensor: Any, op: Any = None) -> Work:
        """Reduce in place over all ranks."""
        op = dist.ReduceOp.SUM if op is None else op
        parts = [
            dist.all_reduce(part, op=op, group=group, async_op=True)
            for part, group in zip(self._cut(tensor), self.groups, strict=False)
        ]
        return Work(parts)

    def all_gather(self, output: Any, tensor: Any) -> Work:
        """Everybody's tensor, one after the other in `output`."""
        rows = output.view(self.size, tensor.numel())
        parts, begin = [], 0
        for part, group in zip(self._cut(tensor), self.groups, strict=False):
            places = [row.narrow(0, begin, part.numel()) for row in rows]
            parts.append(dist.all_gather(places, part, group=group, async_op=True))
            begin += part.numel()
        return Work(parts)

    def reduce_scatter(self, output: Any, tensor: Any) -> Work:
        """Everybody's own part of the sum: rank r gets the r-th part of `tensor` in `output`."""
        rows = tensor.view(self.size, output.numel())
        parts, begin = [], 0
        for part, group in zip(self._cut(output), self.groups, strict=False):
            pieces = [row.narrow(0, begin, part.numel()) for row in rows]
            parts.append(dist.reduce_scatter(part, pieces, group=group, async_op=True))
            begin += part.numel()
        return Work(parts)

    def send_receive(self, output: Any, tensor: Any, to: int, source: int) -> Work:
        """Send to one rank of the group and receive from another at the same time."""
        parts = []
        for sent, received, group in zip(self._cut(tensor), self._cut(output), self.groups, strict=False):
            moves = [
                dist.P2POp(dist.irecv, received, self._members[source], group),
                dist.P2POp(dist.isend, sent, self._members[to], group),
            ]
            parts += dist.batch_isend_irecv(moves)
        return Work(parts)

    def close(self) -> None:
        """Give the groups back."""
        for group in self.groups:
            dist.destroy_process_group(group)

    def _cut(self, tensor: Any) -> list[Any]:
        """As many parts as there are lanes, all of them views."""
        flat = tensor.view(-1)
        if self.count == 1 or flat.numel() * flat.element_size() < LEAST_BYTES:
            return [flat]
        return list(flat.chunk(self.count))


def tune_sockets() -> None:
    """More sockets and threads for NCCL over Ethernet, unless the user chose; before the first communicator."""
    if not _has_infiniband():
        for name, value in _SOCKETS.items():
            os.environ.setdefault(name, value)


def _has_infiniband() -> bool:
    devices = Path("/sys/class/infiniband")
    return devices.is_dir() and any(devices.iterdir())
