"""Collectives that training does not need, tuned all the same: in shares, so that a link always has one to carry."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import torch
import torch.distributed as dist

from corral.train.lanes import Lanes

_LEAST_BYTES = 1 << 20
"""Of a share: less costs more in messages than it wins."""
_PIECES = 4
"""Of a row that goes round: while one is added up, the next ones are on their way."""


def all_gather(lanes: Lanes, output: Any, tensor: Any) -> None:
    """Everybody's tensor, one after the other in `output`."""
    if min(lanes.size, len(lanes.groups)) == 1:
        _wait([dist.all_gather_into_tensor(output, tensor, group=lanes.groups[0], async_op=True)])
        return
    rows = output.view(lanes.size, tensor.numel())
    rows[lanes.position].copy_(tensor)
    for _ in _around(lanes, rows, rows, ahead=0):
        pass


def reduce_scatter(lanes: Lanes, output: Any, tensor: Any, scratch: Any) -> None:
    """Everybody's own part of the sum: rank r gets the r-th part of `tensor` in `output`.

    `scratch` is as large as `tensor`, and given because fresh memory takes a good part of the time of the exchange.
    """
    if min(lanes.size, len(lanes.groups)) == 1:
        _wait([dist.reduce_scatter_tensor(output, tensor, group=lanes.groups[0], async_op=True)])
        return
    # gloo reduces all of it for everybody, which is twice the traffic.
    rows, sums = tensor.view(lanes.size, output.numel()), scratch.view(lanes.size, output.numel())
    for row, begin, count in _around(lanes, rows, sums, ahead=1):
        received, own = sums[row].narrow(0, begin, count), rows[row].narrow(0, begin, count)
        torch.add(received, own, out=output.narrow(0, begin, count) if row == lanes.position else received)


def _around(lanes: Lanes, begun: Any, arrived: Any, *, ahead: int) -> Iterator[tuple[int, int, int]]:
    """Pass rows on to the next rank until every row has been everywhere; yields row and share as they arrive.

    The first that a rank sends is the row so many before its own, of `begun`. What comes is in `arrived`, and goes on
    from there once the caller has done with it, while other pieces are under way.
    """
    size, position = lanes.size, lanes.position
    to, source = lanes.ranks[(position + 1) % size], lanes.ranks[(position - 1) % size]
    # Pieces fill the link by themselves: with more than one group, threads wait for each other more than for the link.
    group, shares = lanes.groups[0], _shares(begun[0], _PIECES)

    def send(step: int, begin: int, count: int) -> list[Any]:
        sent = (begun if step == 0 else arrived)[(position - ahead - step) % size].narrow(0, begin, count)
        received = arrived[(position - ahead - step - 1) % size].narrow(0, begin, count)
        return _exchange(group, received, sent, to=to, source=source)

    under_way = [send(0, *share) for share in shares]
    for step in range(size - 1):
        for piece, (begin, count) in enumerate(shares):
            _wait(under_way[piece])
            yield (position - ahead - step - 1) % size, begin, count
            if step < size - 2:
                under_way[piece] = send(step + 1, begin, count)


def send_receive(lanes: Lanes, output: Any, tensor: Any, *, to: int, source: int) -> None:
    """Send to one rank and receive from another at the same time."""
    works = []
    for group, (begin, count) in zip(lanes.groups, _shares(tensor, len(lanes.groups)), strict=False):
        received, sent = output.narrow(0, begin, count), tensor.narrow(0, begin, count)
        works += _exchange(group, received, sent, to=to, source=source)
    _wait(works)


def _exchange(group: Any, received: Any, sent: Any, *, to: int, source: int) -> list[Any]:
    moves = [dist.P2POp(dist.irecv, received, source, group), dist.P2POp(dist.isend, sent, to, group)]
    return list(dist.batch_isend_irecv(moves))


def _shares(tensor: Any, most: int) -> list[tuple[int, int]]:
    """The first element and the number of elements of each, of as many as are worth it."""
    total = tensor.numel()
    count = max(1, min(most, total * tensor.element_size() // _LEAST_BYTES))
    bounds = [total * number // count for number in range(count + 1)]
    return [(begin, end - begin) for begin, end in pairwise(bounds)]


def _wait(works: list[Any]) -> None:
    for work in works:
        work.wait()
