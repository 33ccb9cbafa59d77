"""A line that tells how far a measurement is, rewritten in place; and Ctrl-C, which ends what it has started."""

from __future__ import annotations

import asyncio
import shutil
import signal
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

from corral.cli.terminal import Interrupted, run

T = TypeVar("T")
_DIM, _RESET, _CLEAR = "\x1b[2m", "\x1b[0m", "\r\x1b[K"


class LiveLine:
    """On stderr. Elsewhere than on a terminal every text is a line of its own, or none where nobody reads them."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._terminal = sys.stderr.isatty()
        self._quiet = quiet and not self._terminal

    def show(self, text: str) -> None:
        """How far it is, until the next text."""
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"{_CLEAR}{_DIM}{text[:width]}{_RESET}")
        elif not self._quiet:
            sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def say(self, text: str) -> None:
        """What is to stay."""
        self.clear()
        if self._terminal:
            sys.stderr.write(f"{_DIM}{text}{_RESET}\n")
        elif not self._quiet:
            sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def clear(self) -> None:
        if self._terminal:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()


def measured(work: Coroutine[Any, Any, T], live: LiveLine) -> T:
    """Run a measurement to its end; Ctrl-C ends its jobs as well."""
    try:
        return run(_interruptible(work))
    finally:
        live.clear()


async def _interruptible(work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)
    try:
        return await work
    except asyncio.CancelledError as stop:
        raise Interrupted("interrupted: nothing was measured, and nothing goes on") from stop
