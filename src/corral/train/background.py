"""Work that goes on while the script computes: one thing after the other, in the order it was given."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class Background:
    """One thread. It ends with the process, even if it waits for a peer that is gone."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True, name="corral-exchange").start()

    def begin(self, work: Callable[[], Any]) -> Future[Any]:
        """Do it as soon as all before it is done."""
        future: Future[Any] = Future()
        self._waiting.put((future, work))
        return future

    def close(self) -> None:
        """Let the thread end after what it was given."""
        self._waiting.put(None)

    def _work(self) -> None:
        while (given := self._waiting.get()) is not None:
            future, work = given
            try:
                future.set_result(work())
            except BaseException as error:  # whoever asks for the result gets it
                future.set_exception(error)
