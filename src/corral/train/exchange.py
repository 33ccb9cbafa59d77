"""How ranks get the mean of what each of them has, in 32, 8 or 4 bits a number.

Packed numbers cannot be summed on the way, as an all-reduce does. Sending everybody's to everybody costs n-1 times
their size. Instead each rank gets one n-th of all from everybody, takes the mean, packs that again and sends it to
everybody: 2(n-1)/n times the size, which is the least an exact all-reduce needs too: the same for two ranks, a
third less for three, half for four. What packing loses, both times, is kept and added the next time, so nothing is lost
for good. Everybody unpacks the same bytes, so the mean is the same on all ranks, bit by bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from corral.train.lanes import Lanes
from corral.train.packing import BLOCK, pack, unpack

Tensor = Any


@dataclass(slots=True)
class Rest:
    """What packing has not sent yet: of this rank's own numbers, and of the means that it packs for all."""

    own: Tensor | None = None
    merged: Tensor | None = None


class Exchange:
    """The mean over all ranks of a vector on the CPU."""

    def __init__(self, lanes: Lanes, bits: int) -> None:
        self._lanes = lanes
        self._bits = bits

    def mean(self, values: Tensor, rest: Rest) -> Tensor:
        """The mean. May overwrite the vector; `rest` belongs to it from one time to the next."""
        if self._bits == 32:
            return self._lanes.sum(values).div_(self._lanes.size)
        return self._packed_mean(values, rest)

    def _packed_mean(self, values: Tensor, rest: Rest) -> Tensor:
        ranks, length = self._lanes.size, len(values)
        share = -(-length // (ranks * BLOCK)) * BLOCK
        rows = torch.zeros(ranks * share, dtype=torch.float32)
        rows[:length] = values
        rows = rows.reshape(ranks, share)
        if rest.own is not None:
            rows += rest.own
        packed = pack(rows, self._bits)
        rest.own = rows.sub_(unpack(packed, share, self._bits))

        merged = unpack(self._lanes.all_to_all(packed), share, self._bits).mean(dim=0, keepdim=True)
        if rest.merged is not None:
            merged += rest.merged
        packed = pack(merged, self._bits)
        rest.merged = merged.sub_(unpack(packed, share, self._bits))

        everybodys = self._lanes.all_to_all(packed.expand(ranks, -1))
        return unpack(everybodys, share, self._bits).reshape(-1)[:length].to(values.dtype)
