"""What slurmrestd answers when it does not do what was asked, as our own errors.

Its status codes are little help: 22.05 says 500 to everything, later releases 200 to a cancelled job that does not
exist. The error numbers are Slurm's own (slurm_errno.h) and stay the same from release to release.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from corral.errors import NoSuchJob, SlurmError, SlurmRefused, SlurmUnavailable
from corral.slurm.rest.transport import Answer
from corral.slurm.rest.wire import Record

_NO_SUCH_JOB = 2017
# Nobody there, or nobody who decides: connecting, sending, receiving and shutting down fail; a backup is on standby.
_AWAY = frozenset((*range(1800, 1804), *range(1850, 1854), 2041, 5004))
_BAD_TOKEN_STATUS = frozenset((401, 403, 511))
_AUTHENTICATION = frozenset((1007, 6500, 9001))


class TokenRefused(SlurmRefused):
    """slurmrestd or the controller does not take the token; perhaps it is too old."""


def read_reply(answer: Answer) -> Record:
    """The body of a success; an error for everything else."""
    try:
        body = json.loads(answer.body)
    except ValueError:
        body = None
    problems = list(_problems(body)) if isinstance(body, dict) else []
    if answer.status < 400 and isinstance(body, dict) and not problems:
        return body
    raise _error(answer, problems)


def _problems(body: Record) -> Iterator[tuple[int, str]]:
    """(number, words) of every error in a reply."""
    for problem in body.get("errors") or ():
        words = [problem.get("error"), problem.get("description")]
        yield problem.get("error_number", 0), ": ".join(word for word in words if word)
    # How cancelling reports since v0.0.40: 200, and a verdict per job.
    for verdict in body.get("status") or ():
        problem = verdict.get("error") or {}
        if problem.get("code"):
            yield problem["code"], problem.get("message") or problem.get("string") or ""


def _error(answer: Answer, problems: list[tuple[int, str]]) -> SlurmError:
    numbers = {number for number, _ in problems}
    said = "; ".join(words for _, words in problems if words) or answer.body[:200].decode(errors="replace").strip()
    if answer.status in _BAD_TOKEN_STATUS or numbers & _AUTHENTICATION:
        return TokenRefused(f"slurmrestd does not take the token: {said}. Try: corral doctor")
    if _NO_SUCH_JOB in numbers:
        return NoSuchJob(said)
    if numbers & _AWAY or (answer.status >= 500 and not problems):
        return SlurmUnavailable(f"the controller does not answer: {said}. Try: corral status")
    return SlurmRefused(said)
