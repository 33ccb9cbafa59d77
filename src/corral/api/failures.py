"""What a job's failure looks like on this side."""

from __future__ import annotations

from corral.errors import CorralError


class JobFailed(CorralError):
    """A job that did not end well, with the end of what it printed."""

    def __init__(self, label: str, state: str, code: int, output: str) -> None:
        super().__init__(f"job {label} {_words(state, code)}\n{output}".rstrip())
        self.label = label
        self.state = state
        self.code = code
        self.output = output


class RemoteTraceback(Exception):
    """Where an exception came from, on the machine that the job ran on."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"\n{self.text}"


def _words(state: str, code: int) -> str:
    if state == "FAILED":
        return f"failed with exit code {code}"
    return f"ended: {state.lower().replace('_', ' ')}"
