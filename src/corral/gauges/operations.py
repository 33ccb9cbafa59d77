"""The collectives as the benchmark runs them: their buffers, what must come out, and how they are started.

Sizes are counted as nccl-tests counts them: of an all-gather or reduce-scatter the size is that of the whole, of which
every rank has its part. Contents are whole numbers so small that every sum is exact in every type.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from corral.gauges.carry import all_gather, reduce_scatter, send_receive
from corral.train.lanes import GLOO_LANES, Lanes

DTYPES = {
    "float": torch.float32,
    "double": torch.float64,
    "half": torch.float16,
    "bfloat16": torch.bfloat16,
    "int32": torch.int32,
    "int64": torch.int64,
}
"""By the names of nccl-tests."""

_CYCLE = 3
_ALIGNED_BYTES = 16


class Operation:
    """One collective on buffers of one size."""

    redop = "none"
    has_in_place = True
    tuned = f"{GLOO_LANES} process groups as lanes"
    """How gloo is made faster."""
    parted = False
    """Whether the size is that of a whole of which each rank has one part."""

    def __init__(self, lanes: Lanes, count: int, dtype: Any, device: Any) -> None:
        self.lanes, self.count = lanes, count
        self.rank = int(dist.get_rank())
        self._dtype, self._device = dtype, device

    def prepare(self, *, in_place: bool) -> None:
        """Fill the buffers anew."""
        raise NotImplementedError

    def run(self) -> None:
        """Once, to its end; on a GPU to the end of what the GPU is told."""
        raise NotImplementedError

    def wrong(self) -> int:
        """How many elements are not what they must be, after the first run since `prepare`."""
        raise NotImplementedError

    def _new(self, count: int) -> Any:
        return torch.empty(count, dtype=self._dtype, device=self._device)

    def _cycled(self, values: list[int], count: int, begin: int) -> Any:
        """The values again and again, beginning with the one at `begin`."""
        turned = [values[(begin + at) % _CYCLE] for at in range(_CYCLE)]
        one = self._new(_CYCLE).copy_(torch.tensor(turned))
        return one.repeat(count // _CYCLE + 1)[:count]

    def _of_rank(self, rank: int, count: int) -> Any:
        return self._cycled(list(range(_CYCLE)), count, rank)

    def _sum(self, count: int, begin: int = 0) -> Any:
        totals = [sum((at + rank) % _CYCLE for rank in range(self.lanes.size)) for at in range(_CYCLE)]
        return self._cycled(totals, count, begin)


class AllReduce(Operation):
    """Everybody gets the sum. torch reduces in place only, so out of place copies first."""

    redop = "sum"

    def prepare(self, *, in_place: bool) -> None:
        self._sent = self._of_rank(self.rank, self.count)
        self._received = self._sent if in_place else self._new(self.count)

    def run(self) -> None:
        if self._received is not self._sent:
            self._received.copy_(self._sent)
        self.lanes.all_reduce(self._received).wait()

    def wrong(self) -> int:
        return int((self._received != self._sum(self.count)).sum())


class _Parted(Operation):
    tuned = "passed round a ring in pieces"
    parted = True

    def _own(self, whole: Any) -> Any:
        return whole.narrow(0, self.rank * self.count, self.count)


class AllGather(_Parted):
    """Everybody gets everybody's part."""

    def prepare(self, *, in_place: bool) -> None:
        self._received = self._new(self.count * self.lanes.size)
        self._sent = self._own(self._received) if in_place else self._new(self.count)
        self._sent.copy_(self._of_rank(self.rank, self.count))

    def run(self) -> None:
        all_gather(self.lanes, self._received, self._sent)

    def wrong(self) -> int:
        rows = self._received.view(self.lanes.size, self.count)
        return sum(int((row != self._of_rank(rank, self.count)).sum()) for rank, row in enumerate(rows))


class ReduceScatter(_Parted):
    """Everybody gets their part of the sum."""

    redop = "sum"

    def prepare(self, *, in_place: bool) -> None:
        self._sent = self._of_rank(self.rank, self.count * self.lanes.size)
        self._received = self._own(self._sent) if in_place else self._new(self.count)
        self._scratch = torch.empty_like(self._sent)

    def run(self) -> None:
        reduce_scatter(self.lanes, self._received, self._sent, self._scratch)

    def wrong(self) -> int:
        return int((self._received != self._sum(self.count, self.rank * self.count)).sum())


class SendReceive(Operation):
    """Everybody sends to the next and receives from the one before. It needs two buffers."""

    has_in_place = False

    def prepare(self, *, in_place: bool) -> None:
        assert not in_place
        self._sent = self._of_rank(self.rank, self.count)
        self._received = self._new(self.count)

    def run(self) -> None:
        send_receive(self.lanes, self._received, self._sent, to=self._neighbour(1), source=self._neighbour(-1))

    def wrong(self) -> int:
        return int((self._received != self._of_rank(self._neighbour(-1), self.count)).sum())

    def _neighbour(self, distance: int) -> int:
        return (self.rank + distance) % self.lanes.size


OPERATIONS: dict[str, type[Operation]] = {
    "allreduce": AllReduce,
    "allgather": AllGather,
    "reducescatter": ReduceScatter,
    "sendrecv": SendReceive,
}


def count_of(kind: type[Operation], size_bytes: int, element_bytes: int, ranks: int) -> int:
    """How many elements each rank contributes to a size; parts are aligned as in nccl-tests."""
    if not kind.parted:
        return size_bytes // element_bytes
    return size_bytes // element_bytes // ranks & -max(1, _ALIGNED_BYTES // element_bytes)


def bytes_of(kind: type[Operation], count: int, element_bytes: int, ranks: int) -> int:
    """The size that this many elements are reported as."""
    return count * element_bytes * (ranks if kind.parted else 1)
