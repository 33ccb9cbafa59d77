"""The Slurm client against real daemons, as users who are not root, over SSH as from a laptop."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cluster.lab import Lab, eventually, make_lab
from tests.cluster.tunnel import client, tunnel

from corral.errors import NoSuchJob, SlurmRefused, SlurmUnavailable
from corral.slurm.description import JobDescription, directives
from corral.slurm.listing import history_script, parse_history, parse_queue, queue_script
from corral.slurm.rest.client import SlurmRest
from corral.slurm.rest.transport import Unix

JOB = JobDescription(
    name='a "b" | \\ ü %', script="#!/bin/sh\nsleep 600\n", folder="/shared/alice", output="/shared/alice/%j.log",
    memory_mib=100, time_limit_min=30, environment={"PATH": "/usr/bin:/bin"},
)  # fmt: skip
# When and from where it came, and what only sbatch has: a file and a command line. Through REST, "not set" is a no.
COMES_FROM = re.compile(r"(?:SubmitTime|LastSchedEval|AllocNode:Sid|Command|OOMKillStep)=\S*|SubmitLine=.*")


@pytest.fixture(
    scope="module",
    params=["trixie", pytest.param("bookworm", marks=pytest.mark.slow), pytest.param("forky", marks=pytest.mark.slow)],
)
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, image_cache: Path) -> Iterator[Lab]:
    lab = make_lab(
        tmp_path_factory.mktemp(request.param), image_cache, name=f"rest-{request.param}-{os.getpid()}", machines=2,
        local={"release": request.param, "gpus": 2}, users={"alice": {}, "bob": {}},
    )  # fmt: skip
    with lab.while_up():
        lab.ssh("node0", "install -d -o alice /shared/alice")
        yield lab


@pytest.fixture(scope="module")
def endpoint(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Unix]:
    with tunnel(lab, tmp_path_factory.mktemp("tunnel")) as endpoint:
        yield endpoint


@pytest.fixture
def alice(lab: Lab, endpoint: Unix) -> Iterator[SlurmRest]:
    yield client(lab, endpoint, "alice")
    lab.ssh("node0", "scancel -u alice")
    eventually(lambda: lab.ssh("node0", "squeue -h") == "")


def submit(rest: SlurmRest, description: JobDescription) -> int:
    return asyncio.run(rest.submit(description))


def shown(lab: Lab, job: str) -> str:
    """What the controller knows of a job, without its number and how it came there."""
    text = COMES_FROM.sub("", lab.ssh("node0", f"scontrol show job {job}"))
    return " ".join(re.sub(rf"(JobId=|alice/){job}\b", r"\1N", text).split())


def test_rest_and_sbatch_ask_for_the_same_job(lab: Lab, alice: SlurmRest) -> None:
    first = submit(alice, replace(JOB, hold=True))
    plain = replace(JOB, hold=True)
    full = replace(
        plain, nodes=2, tasks_per_node=2, cpus_per_task=1, gpus_per_node=2, gpu_type="rtx5090", partition="main",
        qos="normal", account="research", array="1-9:2%2", dependency=f"afterany:{first}", requeue=False, warn_s=60,
        comment="some words", output="/shared/alice/%A-%a.log",
    )  # fmt: skip
    for description in (plain, full):
        job = submit(alice, description)
        script = "\n".join(["#!/bin/sh", *directives(description), "sleep 600"])
        lab.ssh("node0", f"printf '%s\\n' {shlex.quote(script)} > /shared/batch.sh")
        other = lab.as_user("alice", "sbatch --parsable /shared/batch.sh").strip()
        assert shown(lab, str(job)) == shown(lab, other)


def test_a_job_has_its_environment_appends_to_its_log_and_is_warned(lab: Lab, alice: SlurmRest) -> None:
    step = "trap 'echo warned; exit 0' USR1; echo \"word=$WORD in $PWD\"; while :; do sleep 0.2; done"
    description = replace(
        JOB, script=f"#!/bin/sh\nsrun sh -c {shlex.quote(step)}\n", output="/shared/alice/log", time_limit_min=1,
        warn_s=55, environment={"PATH": "/usr/bin:/bin", "WORD": "a=b, ü 'c'\n\"d\""},
    )  # fmt: skip
    lab.as_user("alice", "echo before > /shared/alice/log")
    job = submit(alice, description)
    eventually(lambda: asyncio.run(alice.job(job)).over, within_s=90)
    assert lab.ssh("node0", "cat /shared/alice/log").splitlines() == [
        "before", "word=a=b, ü 'c'", '"d" in /shared/alice', "warned",
    ]  # fmt: skip


def test_a_job_is_held_released_and_cancelled(lab: Lab, alice: SlurmRest) -> None:
    async def story() -> None:
        job = await alice.submit(replace(JOB, hold=True))
        assert (await alice.job(job)).reason == "JobHeldUser"
        await alice.release(job)
        while (await alice.job(job)).state != "RUNNING":
            await asyncio.sleep(0.2)
        await alice.cancel(job)
        while not (await alice.job(job)).over:
            await asyncio.sleep(0.2)
        assert (await alice.job(job)).state == "CANCELLED"
        await alice.cancel(job)
        with pytest.raises(NoSuchJob):
            await alice.job(999999)

    asyncio.run(asyncio.wait_for(story(), 60))


def test_one_task_of_an_array_can_be_cancelled(lab: Lab, alice: SlurmRest) -> None:
    job = submit(alice, replace(JOB, array="1-4", hold=True))
    asyncio.run(alice.cancel(f"{job}_3"))
    listed = parse_queue(lab.ssh("node0", queue_script(user="alice")))
    assert sorted(row.id for row in listed) == [f"{job}_1", f"{job}_2", f"{job}_4"]


def test_a_user_cannot_touch_another_users_job(lab: Lab, endpoint: Unix, alice: SlurmRest) -> None:
    job = submit(alice, replace(JOB, hold=True))
    bob = client(lab, endpoint, "bob")
    with pytest.raises(SlurmRefused, match="denied"):
        asyncio.run(bob.cancel(job))
    with pytest.raises(SlurmRefused):
        asyncio.run(bob.release(job))
    assert asyncio.run(alice.job(job)).reason == "JobHeldUser"
    with pytest.raises(SlurmRefused, match="Invalid partition"):
        asyncio.run(bob.submit(replace(JOB, partition="nowhere")))


def test_a_token_that_slurm_no_longer_takes_is_replaced_and_the_job_is_sent_once(lab: Lab, alice: SlurmRest) -> None:
    submit(alice, replace(JOB, hold=True))
    assert alice._token is not None
    alice._token = replace(alice._token, secret=f"{alice._token.secret[:-4]}AAAA")
    submit(alice, replace(JOB, hold=True, name="once"))
    names = [row.name for row in parse_queue(lab.ssh("node0", queue_script(user="alice")))]
    assert sorted(names) == sorted([JOB.name, "once"])


def test_a_token_is_never_among_a_processes_arguments(lab: Lab, alice: SlurmRest) -> None:
    # The machines' processes are this computer's as well.
    seen: set[bytes] = set()
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            for file in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    seen.add(file.read_bytes())
                except OSError:
                    continue

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        job = submit(alice, replace(JOB, hold=True))
        asyncio.run(alice.job(job))
        asyncio.run(alice.cancel(job))
    finally:
        over.set()
        watcher.join()
    assert alice._token is not None
    assert any(b"scontrol" in arguments for arguments in seen)
    assert not any(alice._token.secret.encode() in arguments for arguments in seen)


def test_jobs_that_are_over_are_in_the_history_with_their_exit_code(lab: Lab, alice: SlurmRest) -> None:
    began = int(time.time())
    job = submit(alice, replace(JOB, script="#!/bin/sh\nexit 7\n", gpus_per_node=2, name="ends"))

    def in_history() -> bool:
        script = history_script(since=began - 60, user="alice", states=["FAILED"])
        rows = {row.id: row for row in parse_history(lab.ssh("node0", script))}
        return str(job) in rows and (rows[str(job)].exit_code, rows[str(job)].gpus) == (7, 2)

    eventually(in_history)


@pytest.mark.parametrize("daemon", ["slurmrestd", "slurmctld"])
def test_a_dead_daemon_is_told_from_a_refusal_in_bounded_time(lab: Lab, alice: SlurmRest, daemon: str) -> None:
    job = submit(alice, replace(JOB, hold=True))
    lab.ssh("node0", f"systemctl kill -s KILL {daemon}; systemctl stop {daemon}")
    try:
        for act in (alice.submit(JOB), alice.job(job), alice.cancel(job)):
            began = time.monotonic()
            with pytest.raises(SlurmUnavailable):
                asyncio.run(act)
            assert time.monotonic() - began < 45
    finally:
        lab.ssh("node0", f"systemctl start {daemon}")
    eventually(lambda: asyncio.run(_answers(alice, job)))


async def _answers(rest: SlurmRest, job: int) -> bool:
    try:
        await rest.job(job)
    except NoSuchJob:
        # A controller that is killed forgets what it has not written down yet.
        return True
    except SlurmUnavailable:
        return False
    return True
