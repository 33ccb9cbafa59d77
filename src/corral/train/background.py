"""Work that goes on while the script computes: one thing after the other, in the order it was given."""

from __future__ import annotations

import atexit
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

_LAST_WAIT_S = 60.0


class Background:
    """One thread. It ends with the process, even if it waits for a peer that is gone."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, daemon=True, name="corral-exchange")
        self._thread.start()
        atexit.register(self._settle)

    def begin(self, work: Callable[[], Any]) -> Future[Any]:
        """Do it as soon as all before it is done."""
        future: Future[Any] = Future()
        self._waiting.put((future, work))
        return future

    def close(self) -> None:
        """Let the thread end after what it was given."""
        self._waiting.put(None)
        atexit.unregister(self._settle)

    def _settle(self) -> None:
        # Scripts may end without a word. In the midst of an exchange gloo would abort the process, and fail the job.
        self._waiting.put(None)
        self._thread.join(_LAST_WAIT_S)

    def _work(self) -> None:
        while (given := self._waiting.get()) is not None:
            future, work = given
            try:
                future.set_result(work())
            except BaseException as error:  # whoever asks for the result gets it
                future.set_exception(error)
