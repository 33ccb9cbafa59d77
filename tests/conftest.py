"""What all tests may rely on."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    # A shell starts what it puts into the background with Ctrl-C switched off, and tests press it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
