"""What slurmrestd answers when it does not do what was asked, as our own errors.

Its status codes are little help: 22.05 says 500 to everything, later releases 200 to cancelling a job that does not
exist. The error numbers are Slurm's own (slurm_errno.h) and stay the same from release to release.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from corral.errors import NoSuchJob, SlurmError, SlurmRefused, SlurmUnavailable
from corral.slurm.rest.transport import Answer
from corral.slurm.rest.wire import Record

_NO_SUCH_JOB = 2017
_ALREADY_OVER = 2021
_BAD_TOKEN = 1007
# Seen while the controller is stopped or frozen: unspecified (GET), not permitted (DELETE), unexpected message
# (update), and the failures to connect, send and receive.
_AWAY = frozenset((-1, 1, 1000, *range(1001, 1005), *range(1800, 1804), *range(5000, 5006)))


class TokenRefused(SlurmRefused):
    """slurmrestd or the controller does not take the token; perhaps it is too old."""


class TokenSuspected(SlurmUnavailable):
    """The controller is away, or else it does not take the token: this API does not tell."""


def read_reply(answer: Answer, token_suspects: frozenset[int]) -> Record:
    """The body of a success; an error for everything else."""
    try:
        body = json.loads(answer.body)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise _error(answer, [], token_suspects)
    problems = list(_problems(body))
    if answer.status < 400:
        # A job that has an id was taken, whatever v0.0.38 says beside it; nor does it put a number on what is no error.
        if body.get("job_id"):
            return body
        problems = [(number, words) for number, words in problems if number not in (0, _ALREADY_OVER)]
        if not problems:
            return body
    raise _error(answer, problems, token_suspects)


def _problems(body: Record) -> Iterator[tuple[int, str]]:
    """(number, words) of every error in a reply."""
    for problem in body.get("errors") or ():
        words = [problem.get("error"), problem.get("description")]
        number = problem.get("error_number", problem.get("error_code", 0))
        yield number, ": ".join(word for word in words if word)
    # How cancelling reports since v0.0.40: 200, and a verdict per job.
    for verdict in body.get("status") or ():
        problem = verdict.get("error") or {}
        if problem.get("code"):
            yield problem["code"], problem.get("message") or problem.get("string") or ""


def _error(answer: Answer, problems: list[tuple[int, str]], token_suspects: frozenset[int]) -> SlurmError:
    numbers = {number for number, _ in problems}
    unique = dict.fromkeys(words for _, words in problems if words)
    said = "; ".join(unique) or answer.body[:200].decode(errors="replace").strip() or f"HTTP status {answer.status}"
    if _BAD_TOKEN in numbers or answer.status in (401, 511):
        return TokenRefused(f"slurmrestd does not take the token: {said}. Try: corral doctor")
    if _NO_SUCH_JOB in numbers:
        return NoSuchJob(said)
    away = f"the controller does not answer: {said}. Try: corral status"
    if numbers & token_suspects:
        return TokenSuspected(away)
    if numbers & _AWAY or (answer.status >= 500 and not problems):
        return SlurmUnavailable(away)
    return SlurmRefused(said)
