"""Waiting with a limit."""

from __future__ import annotations

import asyncio

import pytest

from corral.hosts.patience import within


def test_a_cancellation_in_the_moment_the_work_ends_is_not_forgotten() -> None:
    async def both_at_once() -> None:
        work: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        waiting = asyncio.ensure_future(within(work, 10))
        await asyncio.sleep(0)
        work.set_result(1)
        await asyncio.sleep(0)
        waiting.cancel()
        await waiting

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(both_at_once())


def test_work_that_takes_too_long_has_cleaned_up_before_the_wait_ends() -> None:
    cleaned = []

    async def slow() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.append(True)

    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(within(slow(), 0.01))
    assert cleaned == [True]


def test_what_the_work_raises_is_raised() -> None:
    async def broken() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        asyncio.run(within(broken(), 10))
