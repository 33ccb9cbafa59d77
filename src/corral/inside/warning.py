"""Slurm's warning that a job must end soon, kept until the script reaches a safe point.

SIGUSR1 comes before a time limit and before a preemption, SIGTERM when a job is ended otherwise. Slurm sends them to
every process of a step, so what the script starts (data loaders, a monitor) must not die of SIGUSR1: a signal that is
blocked stays blocked in children, while one with a handler would be deadly to them again. So the main thread blocks it,
and a thread of ours takes it.
"""

from __future__ import annotations

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
    threading.Thread(target=_take, name="corral-warning", daemon=True).start()
    os.register_at_fork(after_in_child=_forget)


def received() -> str:
    """Name of the signal that came first, or nothing."""
    return _received[0] if _received else ""


def _note(number: int, _frame: FrameType | None) -> None:
    _received.append(signal.Signals(number).name)


def _take() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
    threading.Event().wait()


def _forget() -> None:
    # A pool ends its forked workers with SIGTERM: they must die of it.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
