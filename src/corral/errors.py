"""Every error that Corral raises on purpose.

    CorralError                 exit code 1
    ├── InputError              exit code 2: the cluster file or the command line is wrong
    │   └── SpecError           the cluster file is wrong: every mistake with its line and column
    ├── HostError               one machine did not do what was asked of it
    │   ├── Unreachable         no connection could be made
    │   │   └── UnknownHostKey  (hosts/login.py) first contact: nobody has accepted the host key yet
    │   └── Lost                the connection broke or the machine went silent: the outcome is unknown
    ├── NotReady                machines are not fit for what was asked: one line per problem, nothing was changed
    ├── CheckError              exit code 2: nothing can be said about the cluster, because it could not be looked at
    ├── DeployError             a deployment ended with steps undone
    ├── RefusedError            what was asked for would do harm: nothing was changed
    ├── SlurmError              Slurm did not do what was asked of it
    │   ├── SlurmUnavailable    a daemon is away or silent: the outcome is unknown, try again
    │   └── SlurmRefused        Slurm said no, in its own words
    │       └── NoSuchJob       it knows no such job, or no longer
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

    @property
    def messages(self) -> tuple[str, ...]:
        """What to show: one message, or one per problem."""
        return (str(self),)


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

    @property
    def messages(self) -> tuple[str, ...]:
        return tuple(str(self).splitlines())


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


class NotReady(CorralError):
    """Machines are not fit for what was asked of them; nothing was changed."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)

    @property
    def messages(self) -> tuple[str, ...]:
        return self.problems


class CheckError(CorralError):
    """A check could not be made, so it says nothing about the cluster."""

    exit_code = 2


class DeployError(CorralError):
    """A deployment ended with steps undone."""


class RefusedError(CorralError):
    """What was asked for would do harm, so nothing was changed."""


class LockedError(CorralError):
    """Another operator is changing this cluster right now."""


class ProviderError(CorralError):
    """Machines could not be made, listed or removed."""


class SlurmError(CorralError):
    """Slurm did not do what was asked of it."""


class SlurmUnavailable(SlurmError):
    """A daemon is away or silent, so whether it did what was asked is unknown: look, then try again."""


class SlurmRefused(SlurmError):
    """Slurm said no, in its own words: asking again would change nothing."""


class NoSuchJob(SlurmRefused):
    """Slurm knows no such job, or no longer."""
