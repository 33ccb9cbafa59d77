"""Coroutines for people who write plain Python."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Iterator

import pytest

from corral.api.background import Background


@pytest.fixture
def background() -> Iterator[Background]:
    made = Background()
    yield made
    made.stop()


async def never(cancelled: threading.Event) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        cancelled.set()


def test_the_outcome_comes_back(background: Background) -> None:
    assert background.run(asyncio.sleep(0, "done")) == "done"


def test_an_exception_is_raised_on_this_side(background: Background) -> None:
    async def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        background.run(fail())
    assert background.run(asyncio.sleep(0, "still there")) == "still there"


def test_work_that_takes_too_long_is_cancelled(background: Background) -> None:
    cancelled = threading.Event()
    with pytest.raises(TimeoutError, match=r"not within 0\.05 s"):
        background.run(never(cancelled), 0.05)
    assert cancelled.wait(10)


def test_a_timeout_of_the_work_itself_is_its_own(background: Background) -> None:
    async def late() -> None:
        raise TimeoutError("the work's own")

    with pytest.raises(TimeoutError, match="the work's own"):
        background.run(late(), 60)


def test_ctrl_c_ends_the_waiting_and_the_work(background: Background) -> None:
    cancelled, main = threading.Event(), threading.get_ident()

    async def interrupted() -> None:
        while "wait" not in sys._current_frames()[main].f_code.co_name:
            await asyncio.sleep(0.001)
        signal.pthread_kill(main, signal.SIGINT)
        await never(cancelled)

    with pytest.raises(KeyboardInterrupt):
        background.run(interrupted())
    assert cancelled.wait(10)


def test_many_threads_may_ask_at_once(background: Background) -> None:
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda n=n: found.append(background.run(asyncio.sleep(0.01, n)))) for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(8))
