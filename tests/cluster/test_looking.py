"""Looking at jobs and handling them, as a researcher does, on a real cluster of three nodes with a GPU each."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.lab import CORRAL, Lab, eventually, make_lab

# Real jobs on real machines, and perhaps a busy computer.
pytestmark = pytest.mark.timeout(900)

SMALL = ("--gpus", "0", "--cpus", "1", "--mem", "64M")


@pytest.fixture(
    scope="module",
    params=["trixie", pytest.param("bookworm", marks=pytest.mark.slow), pytest.param("forky", marks=pytest.mark.slow)],
)
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, image_cache: Path) -> Iterator[Lab]:
    lab = make_lab(
        tmp_path_factory.mktemp(request.param), image_cache, name=f"look-{request.param}-{os.getpid()}",
        local={"release": request.param}, users={"alice": {}, "bob": {"limits": {"gpus": 1}}}, storage={"shared": {}},
        partitions={"main": {"default": True}, "short": {"max_time": 10}},
    )  # fmt: skip
    with lab.while_up():
        yield lab


@pytest.fixture
def alice(lab: Lab) -> Iterator[Lab]:
    """The command line as alice has it; what she leaves behind is cancelled."""
    yield replace(lab, variables={"CORRAL_USER": "alice"})
    lab.ssh("node0", "scancel -u alice; scancel -u bob")
    eventually(lambda: lab.ssh("node0", "squeue -h") == "")


@pytest.fixture
def bob(lab: Lab) -> Lab:
    return replace(lab, variables={"CORRAL_USER": "bob"})


def send(person: Lab, *args: str) -> str:
    """Send a job; its number, which comes last."""
    return person.corral("run", "--no-folder", "--detach", *args).split()[-1]


def state(lab: Lab, job: str) -> str:
    said = lab.ssh("node0", f"squeue -h -t all -j {job} -o '%T %r'", exit_code=None).split()
    return " ".join(said)


def running(lab: Lab, *jobs: str) -> None:
    for job in jobs:
        eventually(lambda job=job: state(lab, job).startswith("RUNNING"))  # type: ignore[misc]  # mypy cannot infer it with a default


def ended(lab: Lab, job: str, within_s: float = 60) -> None:
    eventually(lambda: re.match("COMPLETED|FAILED|TIMEOUT|CANCELLED|OUT_OF_MEMORY", state(lab, job)), within_s)
    # Accounting hears of it a moment later, and of its steps at last.
    eventually(lambda: lab.ssh("node0", f"sacct -nX -j {job} -o end").strip() not in ("", "Unknown"))


@pytest.fixture
def full(alice: Lab) -> list[str]:
    """Three jobs on three GPUs."""
    jobs = [send(alice, "--name", f"train{n}", "--time", f"{n}h", "--", "sleep", "3000") for n in (1, 2, 3)]
    running(alice, *jobs)
    return jobs


def why(person: Lab, job: str) -> Any:
    return person.json("why", job)


def text(answer: Any) -> str:
    return "\n".join([answer["headline"], *answer["details"], *answer["suggestions"]])


def test_a_fourth_job_on_three_gpus_learns_who_holds_them_and_until_when(alice: Lab, full: list[str]) -> None:
    fourth = send(alice, "--name", "fourth", "--time", "20m", "--", "true")
    eventually(lambda: "Resources" in state(alice, fourth))
    eventually(lambda: why(alice, fourth)["expected_start"])
    answer = why(alice, fourth)
    assert "it is next, and 1 node with 1 GPU" in answer["headline"]
    assert "No other waiting job is before it." in answer["details"]
    for job, node in zip(full, ("node0", "node1", "node2"), strict=True):
        assert re.search(rf"job {job} \(train\d\) of alice holds 1 GPU on node\d until .*at the latest", text(answer))
        assert node in text(answer)
    assert "Slurm expects it to start" in text(answer)

    fifth = send(alice, "--", "true")
    eventually(lambda: "Priority" in state(alice, fifth))
    assert f"1 waiting job is before it: {fourth} of alice." in why(alice, fifth)["details"]
    assert any("A shorter time limit (it has none)" in way for way in why(alice, fifth)["suggestions"])

    listed = alice.json("jobs")
    assert [(one["job"], one["state"]) for one in listed[:5]] == [
        *((job, "RUNNING") for job in full), (fourth, "PENDING"), (fifth, "PENDING"),
    ]  # fmt: skip
    # The same on a machine of the cluster, with what is installed there, as herself.
    lines = alice.as_user("alice", "corral jobs").splitlines()
    assert lines[0].split() == ["JOB", "NAME", "STATE", "TIME", "GPUS", "NODES", "WHERE", "OR", "WHY"]
    assert f"{fourth} fourth waiting 1 1 for free resources".split() == lines[4].split()
    assert alice.as_user("alice", f"corral why {fourth}").startswith(f"job {fourth} (fourth) waits: it is next")


def test_a_drained_node_that_would_fit_is_named(alice: Lab, full: list[str]) -> None:
    alice.ssh("node0", "scontrol update node=node2 state=drain reason='fan is broken'")
    try:
        waiting = send(alice, "--nodes", "3", "--", "true")
        eventually(lambda: why(alice, waiting)["suggestions"])
        assert "node2 would fit but is out of service (drained: fan is broken). Try: corral doctor node2" in text(
            why(alice, waiting)
        )
    finally:
        alice.ssh("node0", "scontrol update node=node2 state=resume")


def test_a_held_job_and_one_that_follows_it_say_so_and_go_when_released(alice: Lab, full: list[str]) -> None:
    held = send(alice, "--name", "held", *SMALL, "--", "true")
    assert alice.corral("hold", held) == f"job {held}: held\n"
    follows = send(alice, "--after", held, *SMALL, "--", "true")
    assert f"corral release {held}" in why(alice, held)["suggestions"]
    answer = why(alice, follows)
    assert f"it starts after job {held}" in answer["headline"]
    assert f"It waits for job {held} to end well: it waits itself (held)." in answer["details"]
    assert alice.corral("release", held) == f"job {held}: released\n"
    alice.corral("cancel", *full)
    ended(alice, follows)
    assert "ended well" in why(alice, follows)["headline"]


def test_a_limit_names_the_account_and_the_jobs_that_use_it_up(alice: Lab, bob: Lab) -> None:
    first = send(bob, "--time", "1h", "--", "sleep", "600")
    running(bob, first)
    second = send(bob, "--time", "1h", "--", "true")
    eventually(lambda: "AssocGrpGRES" in state(bob, second))
    answer = text(why(bob, second))
    assert "bob may use no more GPUs at a time: the limit of the account research is reached" in answer
    assert "GPUs=1" in answer
    assert f"job {first} (sleep) of bob holds 1 GPU" in answer


def test_too_long_a_time_limit_never_starts_and_can_be_mended_where_it_waits(alice: Lab) -> None:
    job = send(alice, "--partition", "short", "--time", "2h", *SMALL, "--", "true")
    eventually(lambda: "PartitionTimeLimit" in state(alice, job))
    answer = why(alice, job)
    assert "will never start as it is: its time limit of 2:00:00 is more than short allows" in answer["headline"]
    way = next(way for way in answer["suggestions"] if "timelimit=" in way)
    alice.as_user("alice", way.partition(": ")[2])
    ended(alice, job)


def test_what_no_node_can_hold_is_refused_or_known_never_to_start(alice: Lab) -> None:
    said = alice.corral("run", "--no-folder", "-d", "--cpus", "64", "--", "true", exit_code=None)
    job = said.split()[-1]
    if job.isdigit():
        # Some releases take it through REST, and then it waits for ever or fails at once.
        impossible = "will never start as it is: 0 nodes of main could hold it|no node has what it asks for"
        eventually(lambda: re.search(impossible, text(why(alice, job))))
    else:
        assert "Requested node configuration is not available" in said


def test_a_job_that_failed_says_why_and_shows_its_last_lines(alice: Lab) -> None:
    oom = send(alice, "--name", "oom", *SMALL, "--", "sh", "-c", "echo going; head -c 500m /dev/zero | tail | wc -c")
    slow = send(alice, "--name", "slow", "--time", "1m", *SMALL, "--", "sleep", "900")
    bad = send(alice, "--name", "bad", *SMALL, "--", "sh", "-c", "echo hello; echo 'ValueError: no'; exit 7")
    ended(alice, bad)
    answer = why(alice, bad)
    assert answer["headline"].endswith("its command ended with exit code 7")
    # Slurm's own words may come in between.
    assert {"hello", "ValueError: no"} < set(answer["log"])
    assert {"hello", "ValueError: no"} < set(alice.corral("logs", bad).splitlines())
    assert len(alice.corral("logs", bad, "--lines", "1").splitlines()) == 1
    ended(alice, oom)
    eventually(lambda: "it ran out of memory" in text(why(alice, oom)))
    assert "It had asked for 64 MiB." in text(why(alice, oom))
    assert "Try: --mem 128M" in text(why(alice, oom))
    ended(alice, slow, within_s=150)
    eventually(lambda: "its time limit of 1:00 was over" in text(why(alice, slow)))
    assert {one["job"] for one in alice.json("jobs", "--failed")} >= {oom, slow, bad}
    assert {one["job"] for one in alice.json("jobs", "--since", "1h", "--state", "timeout")} == {slow}


def test_nobody_else_may_cancel_or_read_a_job_and_all_that_are_named_are_tried(alice: Lab, bob: Lab) -> None:
    job = send(alice, *SMALL, "--", "sh", "-c", "echo secret; sleep 600")
    running(alice, job)
    own = send(bob, *SMALL, "--", "sleep", "600")
    said = bob.corral("cancel", job, "99999", own, exit_code=1)
    assert f"job {job}: only alice and operators may cancel it" in said
    assert "job 99999: Slurm knows no job 99999" in said
    assert f"job {own}: cancelled" in said
    eventually(lambda: state(bob, own).startswith("CANCELLED"))
    assert state(alice, job).startswith("RUNNING")
    assert "its output can only be read by alice" in bob.corral("logs", job, exit_code=1)
    assert f"job {job}: it runs already" in alice.corral("hold", job, exit_code=1)
    assert alice.corral("cancel", "--all", "--yes") == f"job {job}: cancelled\n"
    ended(alice, job)
    assert "was cancelled by alice" in why(alice, job)["headline"]
    assert alice.corral("cancel", job) == f"job {job}: has ended already\n"


def test_a_requeued_job_runs_again_even_after_it_ended(alice: Lab) -> None:
    job = send(alice, *SMALL, "--", "sh", "-c", "echo run $SLURM_RESTART_COUNT")
    ended(alice, job)
    assert alice.corral("requeue", job) == f"job {job}: waits to run again\n"
    assert alice.corral("logs", "--follow", job).splitlines()[-1] == "run 1"


def test_following_the_log_ends_with_the_job_and_has_its_exit_code(alice: Lab) -> None:
    job = send(alice, *SMALL, "--", "sh", "-c", "for i in 1 2 3; do echo step $i; sleep 1; done; exit 3")
    said = alice.corral("logs", "-f", job, exit_code=3)
    assert [line for line in said.splitlines() if line.startswith("step")] == ["step 1", "step 2", "step 3"]
    other = alice.as_user(
        "alice", "cd /shared && sbatch --parsable -o /shared/jobs/%j.out --wrap 'echo a; sleep 2; echo b'"
    )
    assert alice.corral("logs", "-f", other.strip()).split() == ["a", "b"]


def test_unknown_jobs_ranks_and_words_are_clear_errors(alice: Lab) -> None:
    job = send(
        alice, *SMALL, "--", "sh", "-c", 'mkdir "$CORRAL_JOB_DIR/ranks"; echo hi > "$CORRAL_JOB_DIR/ranks/0.log"'
    )
    ended(alice, job)
    assert alice.corral("logs", job, "--rank", "0") == "hi\n"
    assert f"job {job} has no rank 4; it has: 0" in alice.corral("logs", job, "--rank", "4", exit_code=2)
    assert "Slurm knows no job 99999" in alice.corral("logs", "99999", exit_code=1)
    assert "'train' is no job" in alice.corral("why", "train", exit_code=2)
    assert "which jobs?" in alice.corral("cancel", exit_code=2)
    assert "--since" in alice.corral("jobs", "--since", "monday", exit_code=2)


def test_a_sweep_is_one_line_and_its_trials_are_chosen_by_number(alice: Lab, full: list[str]) -> None:
    sweep = alice.as_user("alice", "sbatch --parsable -J grid --array=0-9%2 -G1 -o /shared/jobs/%A_%a.out --wrap true")
    job = sweep.strip()
    eventually(lambda: state(alice, job))
    line = next(one for one in alice.json("jobs") if one["job"] == job)
    assert line["tasks"] == {"PENDING": 10}
    each = [one["job"] for one in alice.json("jobs", "--each") if one["job"].startswith(job)]
    assert sorted(each) == [f"{job}_{task}" for task in range(10)]
    assert "Its array has 10 waiting." in why(alice, job)["details"]
    assert alice.corral("cancel", f"{job}_3") == f"job {job}_3: cancelled\n"
    eventually(lambda: len(alice.json("jobs", "--each", "--state", "waiting")) == 9)
    assert full[0] in alice.corral("jobs", "--state", "running")


def test_a_narrow_terminal_cuts_columns_and_not_lines(alice: Lab, full: list[str]) -> None:
    send(alice, "--name", "a-name-that-is-far-too-long-for-a-narrow-terminal", "--", "true")
    done = subprocess.run(
        ["script", "-qec", f"stty cols 60; {CORRAL} jobs", "/dev/null"],
        env=alice.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    lines = re.sub(r"\x1b\[\d*m", "", done.stdout).splitlines()
    assert len(lines) >= 5
    assert max(map(len, lines)) <= 60
    assert "a-name-" in done.stdout
    assert json.loads(alice.corral("jobs", "--json", "--limit", "1"))[0]["job"] == full[0]
