"""From measured all-reduces to a link: how much of raw TCP they reach, and what each call costs besides."""

from __future__ import annotations

from collections.abc import Sequence

from corral.inside.cost import Link

Timed = tuple[int, float]
"""An all-reduce's bytes and seconds."""

LEAST_BYTES = 1 << 18
"""Smaller ones say nothing about buckets of megabytes."""


def fitted_link(bit_s: float, nodes: int, plain: Sequence[Timed], lanes: Sequence[Timed]) -> Link:
    """The link on which all-reduces among so many nodes take as long as they did."""
    plain_call_s, plain_byte_s = _line(plain)
    lanes_call_s, lanes_byte_s = _line(lanes)
    ring_bits = 8 * 2 * (nodes - 1) / nodes
    messages = 2 * (nodes - 1)
    return Link(
        bit_s,
        plain_share=ring_bits / plain_byte_s / bit_s,
        lanes_share=ring_bits / lanes_byte_s / bit_s,
        plain_latency_s=plain_call_s / messages,
        lanes_latency_s=lanes_call_s / messages,
    )


def _line(timed: Sequence[Timed]) -> tuple[float, float]:
    """Seconds of a call and of a byte: the line with the least squares of relative errors, never below zero."""
    points = [(size, taken) for size, taken in timed if size >= LEAST_BYTES] or list(timed)
    # Each equation a + c size = taken, divided by taken.
    aa = sum(1 / taken**2 for _, taken in points)
    ac = sum(size / taken**2 for size, taken in points)
    cc = sum((size / taken) ** 2 for size, taken in points)
    a1 = sum(1 / taken for _, taken in points)
    c1 = sum(size / taken for size, taken in points)
    determinant = aa * cc - ac**2
    call_s = (a1 * cc - c1 * ac) / determinant if determinant > 1e-9 * aa * cc else 0.0
    if call_s <= 0:
        return 0.0, c1 / cc
    byte_s = (c1 * aa - a1 * ac) / determinant
    return (call_s, byte_s) if byte_s > 0 else (0.0, c1 / cc)
