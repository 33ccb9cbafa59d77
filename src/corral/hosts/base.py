"""What a deployment may do to a machine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

OnLine = Callable[[str], None]

Endpoint = tuple[str, int] | str
"""An address and a port, or the path of a socket."""


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that ran to its end; a non-zero exit is a result, not an exception."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        return self.exit_code == 0

    def last_words(self, lines: int = 6) -> str:
        """The end of what the command said, for error messages."""
        said = [line for line in (self.stderr + "\n" + self.stdout).splitlines() if line.strip()]
        return "\n".join(said[-lines:])


def as_user(user: str) -> str:
    """What to run a command of root's under, so that it runs as somebody else; no PAM, which containers lack."""
    return f"setpriv --reuid={user} --regid=$(id -g {user}) --init-groups --reset-env "


class Shell(Protocol):
    """One person's own shell on a machine of the cluster, and the way from there to the cluster's services."""

    @property
    def user(self) -> str: ...

    async def run(self, script: str, *, stdin: bytes = b"", timeout_s: float = 60) -> Completed:
        """Run a POSIX shell script as that person to its end; else as `Host.run`."""

    def reach(self, address: str, port: int) -> AbstractAsyncContextManager[Endpoint]:
        """Where to connect to on this machine to get to a service that the shell's machine can reach."""

    async def close(self) -> None: ...


class Host(Protocol):
    """A machine that runs POSIX shell scripts as root. SSH hosts and this very machine implement it."""

    @property
    def name(self) -> str: ...

    async def run(
        self, script: str, *, stdin: bytes = b"", timeout_s: float = 60, on_line: OnLine | None = None
    ) -> Completed:
        """Run a shell script as root to its end.

        Neither the script nor `stdin` appears in any argument list. Raises `Lost` when the outcome is
        unknown. A script that outlives `timeout_s` is killed on the machine and exits with 124.
        """

    def hold(self, script: str) -> AbstractAsyncContextManager[str]:
        """Run a script whose input stays open while the context lasts; yields its first line of output."""

    async def close(self) -> None: ...
