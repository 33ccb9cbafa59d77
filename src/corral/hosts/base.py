"""What a deployment may do to a machine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

OnLine = Callable[[str], None]


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
