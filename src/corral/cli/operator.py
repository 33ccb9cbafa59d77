"""The person at the terminal, who answers what only a person can."""

from __future__ import annotations

import getpass
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Annotated

import typer

from corral.cli.terminal import errors
from corral.hosts.known_hosts import HostKey
from corral.hosts.machine import Machine
from corral.workflows.operator import PASSWORD_VARIABLE, Operator, Unattended

AcceptOption = Annotated[
    bool,
    typer.Option("--accept-new-host-keys", help="Trust machines met for the first time; a changed key still stops."),
]

Paused = Callable[[], AbstractContextManager[object]]


def operator(paused: Paused = nullcontext, *, accept_new_host_keys: bool = False) -> Operator:
    """Whoever can be asked: the person, if there is a terminal to ask on."""
    if sys.stdin.isatty():
        return AtTerminal(paused, accept_new_host_keys)
    return Unattended(accept_new_host_keys)


class AtTerminal:
    """Asks on the terminal, on stderr, so that `--json` stays clean."""

    def __init__(self, paused: Paused, accept_new_host_keys: bool) -> None:
        self._paused = paused
        self._accept = accept_new_host_keys

    def trusts(self, machine: Machine, key: HostKey) -> bool:
        if self._accept:
            return True
        with self._paused(), _interruptible():
            errors.print(f"[bold]{machine.name}[/] ({machine.where}) is met for the first time. Its host key:")
            errors.print(f"  {key.kind} {key.fingerprint}")
            return typer.confirm("Is this the right machine?", default=False, err=True)

    def sudo_password(self, machine: Machine, refused: bool) -> str | None:
        if not refused and PASSWORD_VARIABLE in os.environ:
            return os.environ[PASSWORD_VARIABLE]
        again = "That was refused. " if refused else ""
        with self._paused(), _interruptible():
            return getpass.getpass(f"{again}Password of {machine.user} for sudo on {machine.name}: ") or None


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C ends the question: the event loop's own handler would wait for the answer first."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
