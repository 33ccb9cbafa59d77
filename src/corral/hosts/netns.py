"""Sockets that live in another network namespace."""

from __future__ import annotations

import ctypes
import os
import socket
import threading
from pathlib import Path

_CLONE_NEWNET = 0x40000000


def connect_inside(namespace: Path, address: str, port: int, timeout_s: float) -> socket.socket:
    """Open a TCP connection from inside a network namespace, leaving this process where it is.

    Namespaces belong to threads: a thread of its own enters, connects and ends, and the socket stays there.
    """
    outcome: list[socket.socket | OSError] = []

    def enter_and_connect() -> None:
        try:
            fd = os.open(namespace, os.O_RDONLY)
            try:
                if ctypes.CDLL(None, use_errno=True).setns(fd, _CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")
            finally:
                os.close(fd)
            outcome.append(socket.create_connection((address, port), timeout_s))
        except OSError as problem:
            outcome.append(problem)

    thread = threading.Thread(target=enter_and_connect, daemon=True)
    thread.start()
    thread.join()
    result = outcome[0]
    if isinstance(result, OSError):
        raise result
    result.setblocking(False)
    return result
