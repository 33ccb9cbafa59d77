"""Every error that Corral raises on purpose.

    CorralError                 exit code 1
    ├── InputError              exit code 2: the cluster file or the command line is wrong
    │   └── SpecError           the cluster file is wrong: every mistake with its line and column
    ├── HostError               one machine did not do what was asked of it
    │   ├── Unreachable         no connection could be made
    │   └── Lost                the connection broke or the machine went silent: the outcome is unknown
    ├── DeployError             a deployment ended with steps undone
    ├── RefusedError            what was asked for would do harm: nothing was changed
    ├── LockedError             another `corral up` or `down` is at work on this cluster
    └── ProviderError           machines could not be made, listed or removed

A message says what, where, the evidence and the next step. Only `cli/main.py` turns errors into text and
exit codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class CorralError(Exception):
    """The root: catch it to catch everything that Corral raises on purpose."""

    exit_code = 1


class InputError(CorralError):
    """What the user wrote is wrong; nothing was changed."""

    exit_code = 2


@dataclass(frozen=True, slots=True, order=True)
class Mistake:
    """One mistake in the cluster file; line and column count from 1."""

    line: int
    column: int
    message: str


class SpecError(InputError):
    """The cluster file is wrong: one line of text per mistake."""

    def __init__(self, source: str, mistakes: Sequence[Mistake]) -> None:
        super().__init__("\n".join(f"{source}:{m.line}:{m.column}: {m.message}" for m in mistakes))
        self.source = source
        self.mistakes = tuple(mistakes)


class HostError(CorralError):
    """One machine did not do what was asked of it."""

    def __init__(self, host: str, problem: str) -> None:
        super().__init__(f"{host}: {problem}")
        self.host = host
        self.problem = problem


class Unreachable(HostError):
    """No connection to the machine could be made."""


class Lost(HostError):
    """The connection broke while a command ran, so its outcome is unknown and never counts as success."""


class DeployError(CorralError):
    """A deployment ended with steps undone."""


class RefusedError(CorralError):
    """What was asked for would do harm, so nothing was changed."""


class LockedError(CorralError):
    """Another operator is changing this cluster right now."""


class ProviderError(CorralError):
    """Machines could not be made, listed or removed."""
