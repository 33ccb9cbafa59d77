"""Slurm's warning that a job must end soon, kept until the script reaches a safe point.

SIGUSR1 comes before a time limit and before a preemption, SIGTERM when a job is ended otherwise. Slurm sends them to
every process of a step, so what the script starts (data loaders, a monitor) must not die of SIGUSR1. A handler would be
gone in a program that it starts; a blocked signal stays blocked there. So the main thread blocks it and looks whether
one is pending. The handler is for threads that were there before, which do not block it.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from types import FrameType

from corral.inside import group

_received: list[str] = []
_listening = False


def listen() -> None:
    """Take note of both signals from now on, instead of dying of them."""
    global _listening
    if _listening:
        return
    if threading.current_thread() is not threading.main_thread():
        group.say("not in the main thread: Slurm's warnings are not seen here, only the saves at intervals are made")
        return
    _listening = True
    signal.signal(signal.SIGUSR1, _note)
    signal.signal(signal.SIGTERM, _note)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_forget)
    atexit.register(_ignore)


def received() -> str:
    """Name of the signal that came first, or nothing."""
    if _listening and not _received and signal.SIGUSR1 in signal.sigpending():
        _received.append(signal.SIGUSR1.name)
    return _received[0] if _received else ""


def _note(number: int, _frame: FrameType | None) -> None:
    _received.append(signal.Signals(number).name)


def _ignore() -> None:
    # Python gives up its handlers while it exits: a second warning would then kill a run that has saved all it had.
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _hold() -> None:
    # A child forgets what came before it is itself: hold SIGTERM back until then.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


def _release() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


def _forget() -> None:
    # A pool ends its forked workers with SIGTERM: they must die of it.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _release()
