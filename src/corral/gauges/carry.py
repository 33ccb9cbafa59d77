"""Collectives that training does not need, over lanes all the same: each carries its share of what every rank has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist

from corral.train.lanes import Lanes

_LEAST_BYTES = 1 << 20
"""Of a lane's share: less costs more in messages than it wins."""


def all_gather(lanes: Lanes, output: Any, tensor: Any) -> None:
    """Everybody's tensor, one after the other in `output`."""
    rows = output.view(lanes.size, tensor.numel())
    works = []
    for group, begin, count in _shares(lanes, tensor):
        if count == tensor.numel():
            works.append(dist.all_gather_into_tensor(output, tensor, group=group, async_op=True))
            continue
        places = [row.narrow(0, begin, count) for row in rows]
        works.append(dist.all_gather(places, tensor.narrow(0, begin, count), group=group, async_op=True))
    _wait(works)


def reduce_scatter(lanes: Lanes, output: Any, tensor: Any) -> None:
    """Everybody's own part of the sum: rank r gets the r-th part of `tensor` in `output`."""
    if len(lanes.groups) == 1:
        _wait([dist.reduce_scatter_tensor(output, tensor, group=lanes.groups[0], async_op=True)])
        return
    # gloo reduces all of it for everybody. Sending the parts to their owners, who add, is half of that traffic.
    rows = tensor.view(lanes.size, output.numel())
    received, works = [], []
    for group, begin, count in _shares(lanes, output):
        sent = rows.narrow(1, begin, count).contiguous()
        parts = torch.empty_like(sent)
        works.append(dist.all_to_all_single(parts, sent, group=group, async_op=True))
        received.append((output.narrow(0, begin, count), parts))
    _wait(works)
    for place, parts in received:
        torch.sum(parts, dim=0, dtype=parts.dtype, out=place)


def send_receive(lanes: Lanes, output: Any, tensor: Any, *, to: int, source: int) -> None:
    """Send to one rank and receive from another at the same time."""
    works = []
    for group, begin, count in _shares(lanes, tensor):
        received, sent = output.narrow(0, begin, count), tensor.narrow(0, begin, count)
        moves = [dist.P2POp(dist.irecv, received, source, group), dist.P2POp(dist.isend, sent, to, group)]
        works += dist.batch_isend_irecv(moves)
    _wait(works)


def _shares(lanes: Lanes, tensor: Any) -> Iterator[tuple[Any, int, int]]:
    """A group with the first element and the number of elements that it carries, for each lane that is worth it."""
    total = tensor.numel()
    count = max(1, min(len(lanes.groups), total * tensor.element_size() // _LEAST_BYTES))
    for number, group in zip(range(count), lanes.groups, strict=False):
        begin, end = total * number // count, total * (number + 1) // count
        yield group, begin, end - begin


def _wait(works: list[Any]) -> None:
    for work in works:
        work.wait()
