"""Numbers in 8 or 4 bits: blocks of 128 share one scale, so that a large number costs only its neighbours digits."""

from __future__ import annotations

from typing import Any

import torch

Tensor = Any

BLOCK = 128
_SCALE_BYTES = 4


def packed_bytes(length: int, bits: int) -> int:
    """How long so many numbers are when they are packed."""
    return length * bits // 8 + length // BLOCK * _SCALE_BYTES


def pack(values: Tensor, bits: int) -> Tensor:
    """Rows of floats, in whole blocks, as rows of bytes. The error is at most half a step of the block's scale."""
    rows, length = values.shape
    levels = (1 << (bits - 1)) - 1
    blocks = values.to(torch.float32).reshape(rows, length // BLOCK, BLOCK)
    scales = torch.linalg.vector_norm(blocks, float("inf"), dim=2, keepdim=True) / levels
    # Few passes over much memory: what is small is computed first. No code can be above the highest level.
    codes = (blocks * torch.where(scales > 0, 1 / scales, 0.0)).round_().to(torch.int8)
    flat = codes.reshape(rows, length)
    if bits == 4:
        shifted = (flat + 8).to(torch.uint8)
        flat = shifted[:, 0::2] | (shifted[:, 1::2] << 4)
    return torch.cat([flat.view(torch.uint8), scales.reshape(rows, -1).contiguous().view(torch.uint8)], dim=1)


def unpack(packed: Tensor, length: int, bits: int) -> Tensor:
    """What `pack` packed, as floats."""
    rows = packed.shape[0]
    codes = packed[:, : length * bits // 8]
    scales = packed[:, length * bits // 8 :].contiguous().view(torch.float32)
    if bits == 4:
        halves = torch.stack([codes & 15, codes >> 4], dim=2).reshape(rows, length)
        numbers = halves.to(torch.float32).sub_(8)
    else:
        numbers = codes.contiguous().view(torch.int8).to(torch.float32)
    return numbers.reshape(rows, length // BLOCK, BLOCK).mul_(scales.unsqueeze(2)).reshape(rows, length)
