"""The client against replies of real daemons, on every API version."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from tests.unit.slurm.rest.replay import RELEASES, daemon, recorded

from corral.errors import InputError, NoSuchJob, SlurmError, SlurmRefused, SlurmUnavailable
from corral.slurm.description import JobDescription
from corral.slurm.rest.client import SlurmRest
from corral.slurm.rest.token import Token, parse_token
from corral.slurm.rest.transport import Timeouts, Unix

JOB = JobDescription(name="train", script="#!/bin/sh\n", folder="/shared", output="/shared/log")
every_release = pytest.mark.parametrize("release", RELEASES)

Act = Callable[[SlurmRest], Coroutine[Any, Any, Any]]


def submit(rest: SlurmRest) -> Coroutine[Any, Any, int]:
    return rest.submit(JOB)


def look(rest: SlurmRest) -> Coroutine[Any, Any, object]:
    return rest.job(1)


def cancel(rest: SlurmRest) -> Coroutine[Any, Any, None]:
    return rest.cancel(1)


def hold(rest: SlurmRest) -> Coroutine[Any, Any, None]:
    return rest.hold(1)


def test_three_releases_are_recorded() -> None:
    assert [release[:5] for release in RELEASES] == ["22.05", "24.11", "26.05"]


@every_release
@pytest.mark.parametrize("name", ["submitted", "submitted-held"])
def test_a_job_that_is_taken_has_an_id(release: str, name: str, tmp_path: Path) -> None:
    with daemon(tmp_path, release, name) as slurm:
        assert asyncio.run(slurm.client().submit(JOB)) == recorded(release, name)["body"]["job_id"]


@every_release
@pytest.mark.parametrize(
    ("name", "act", "error", "words"),
    [
        ("refused-partition", submit, SlurmRefused, "Invalid partition name specified"),
        ("refused-qos", submit, SlurmRefused, "Invalid qos specification"),
        ("unknown-job", look, NoSuchJob, "Invalid job id"),
        ("unknown-job-cancelled", cancel, NoSuchJob, "Invalid job id"),
        ("unknown-job-held", hold, NoSuchJob, "Invalid job id"),
        ("cancelled-by-a-stranger", cancel, SlurmRefused, "Access/permission denied"),
        ("held-by-a-stranger", hold, SlurmRefused, "Invalid user id"),
    ],
)
def test_a_refusal_is_told_in_slurms_words(
    release: str, name: str, act: Act, error: type[Exception], words: str, tmp_path: Path
) -> None:
    with daemon(tmp_path, release, name) as slurm, pytest.raises(error, match=words):
        asyncio.run(act(slurm.client()))


@every_release
@pytest.mark.parametrize(
    ("name", "act"),
    [
        ("cancelled", cancel),
        ("cancelled-twice", cancel),
        ("held", hold),
        ("held-array", hold),
        ("released-array", hold),
    ],
)
def test_what_worked_is_no_error(release: str, name: str, act: Act, tmp_path: Path) -> None:
    with daemon(tmp_path, release, name) as slurm:
        asyncio.run(act(slurm.client()))


@every_release
@pytest.mark.parametrize(
    ("name", "act"), [("away", look), ("away-cancelled", cancel), ("away-held", hold), ("away-submitted", submit)]
)
def test_an_absent_controller_is_told_from_a_refusal_and_nothing_is_asked_twice(
    release: str, name: str, act: Act, tmp_path: Path
) -> None:
    # 22.05 does not tell an absent controller from a bad token, so it is asked for a job: the token is good.
    with daemon(tmp_path, release, name, "unknown-job") as slurm:
        with pytest.raises(SlurmUnavailable):
            asyncio.run(act(slurm.client()))
        assert slurm.asked[1:] in ([], ["GET /slurm/v0.0.38/job/1"])


@every_release
def test_a_token_that_is_refused_is_replaced_once(release: str, tmp_path: Path) -> None:
    # 22.05 does not say why it refused, so it is asked once more with the old token.
    refusals = ["bad-token"] * (2 if release.startswith("22") else 1)
    with daemon(tmp_path, release, *refusals, "submitted") as slurm:
        assert asyncio.run(slurm.client().submit(JOB))
        assert slurm.tokens_seen == [*["token-1"] * len(refusals), "token-2"]


@every_release
def test_a_token_that_is_refused_again_is_an_error(release: str, tmp_path: Path) -> None:
    with daemon(tmp_path, release, *["bad-token-submitted"] * 3) as slurm:
        with pytest.raises(SlurmError):
            asyncio.run(slurm.client().submit(JOB))
        assert slurm.tokens_given == 2


def test_a_submission_that_was_perhaps_taken_is_not_sent_again(tmp_path: Path) -> None:
    release = RELEASES[0]
    with daemon(tmp_path, release, "bad-token-submitted", "unknown-job", "submitted") as slurm:
        with pytest.raises(SlurmUnavailable):
            asyncio.run(slurm.client().submit(JOB))
        assert sum(asked.startswith("POST") for asked in slurm.asked) == 1


@every_release
def test_a_token_is_got_anew_before_it_expires(release: str, tmp_path: Path) -> None:
    def token(lives_s: float) -> Token:
        payload = base64.urlsafe_b64encode(json.dumps({"exp": int(time.time() + lives_s)}).encode()).decode()
        return Token(f"head.{payload.rstrip('=')}.signature", release)

    tokens = [token(30), token(3600)]
    with daemon(tmp_path, release, "held", "held") as slurm:
        rest = slurm.client()

        async def get_token() -> Token:
            return tokens.pop(0)

        rest.get_token = get_token
        asyncio.run(rest.hold(1))
        asyncio.run(rest.hold(1))
    assert tokens == []


@pytest.mark.parametrize("body", [b"<html>bad gateway</html>", b"", b"[]"])
def test_an_answer_that_is_none_of_slurms_is_not_believed(body: bytes, tmp_path: Path) -> None:
    with daemon(tmp_path, RELEASES[-1], (502, body)) as slurm, pytest.raises(SlurmUnavailable):
        asyncio.run(slurm.client().cancel(1))


def test_a_daemon_that_is_not_there_or_never_answers_is_unavailable_in_time(tmp_path: Path) -> None:
    async def get_token() -> Token:
        return Token("secret", "26.05.5")

    path = tmp_path / "silent.socket"
    rest = SlurmRest(Unix(str(path)), "alice", get_token, Timeouts(connect_s=0.3, read_s=0.3))
    with pytest.raises(SlurmUnavailable, match="No such file"):
        asyncio.run(rest.job(1))
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(path))
        silent.listen()
        began = time.monotonic()
        with pytest.raises(SlurmUnavailable, match="timed out"):
            asyncio.run(rest.job(1))
        assert time.monotonic() - began < 2


@every_release
def test_a_token_is_never_shown(release: str, tmp_path: Path) -> None:
    with daemon(tmp_path, release, *["bad-token"] * 3) as slurm:
        rest = slurm.client()
        with pytest.raises(SlurmError) as problem:
            asyncio.run(rest.job(1))
        assert "token-" not in f"{rest!r} {rest._token!r} {problem.value!r}"


@pytest.mark.parametrize("job", ["", "0", "12_", "1/../../nodes", "12_[1-3]", "x", -1])
def test_what_is_no_job_is_not_asked_for(job: str | int, tmp_path: Path) -> None:
    with daemon(tmp_path, RELEASES[0]) as slurm:
        with pytest.raises(InputError, match="is no job"):
            asyncio.run(slurm.client().cancel(job))
        assert slurm.asked == []


def test_a_token_and_the_version_are_read_from_what_scontrol_says() -> None:
    token = parse_token("SLURM_JWT=a.b.c\nslurm-wlm 24.11.5\n")
    assert (token.secret, token.slurm_version) == ("a.b.c", "24.11.5")
    with pytest.raises(SlurmUnavailable):
        parse_token("slurm-wlm 24.11.5\n")
