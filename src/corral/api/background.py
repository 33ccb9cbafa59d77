"""An event loop in a thread of its own, so that the same methods work with and without `await`."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """Runs coroutines for people who write plain Python."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="corral", daemon=True)
        self._thread.start()

    def start(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T], timeout_s: float | None = None) -> T:
        """Wait for the outcome; one that comes too late is cancelled."""
        future = self.start(work)
        try:
            return future.result(timeout_s)
        except concurrent.futures.TimeoutError:
            # A TimeoutError of the work itself is its outcome; ours means that it goes on.
            if future.done():
                raise
            future.cancel()
            raise TimeoutError(f"not within {timeout_s} s") from None
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
