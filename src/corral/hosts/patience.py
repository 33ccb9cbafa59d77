"""Waiting for something, but not for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

Result = TypeVar("Result")


async def within(work: Awaitable[Result], timeout_s: float) -> Result:
    """As asyncio.wait_for, which before Python 3.12 forgets a cancellation that comes in the moment the work ends."""
    task = asyncio.ensure_future(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=timeout_s)
    except asyncio.CancelledError:
        await _ended(task)
        raise
    if not done:
        await _ended(task)
        raise asyncio.TimeoutError
    return task.result()


async def _ended(task: asyncio.Future[Result]) -> None:
    """Cancel it, and wait until it has cleaned up behind itself; what it says then interests nobody."""
    task.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await task
