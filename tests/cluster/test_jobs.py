"""What a researcher does on a cluster: jobs, distributed training, sweeps, from the shell and from Python."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.lab import Lab, eventually, make_lab
from tests.cluster.people import TORCH, TRAIN, Person, losses, needs_torch

# Real jobs on real machines, and perhaps a busy computer.
pytestmark = pytest.mark.timeout(900)

FIT = Path(__file__).parents[2] / "examples/fit_curve.py"
_PYTHON = "PYTHONPATH=/opt/corral/lib:/opt/corral/vendor python3"


@pytest.fixture(
    scope="module",
    params=["trixie", *(pytest.param(name, marks=pytest.mark.slow) for name in ("bookworm", "forky"))],
)
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, image_cache: Path) -> Iterator[Lab]:
    lab = make_lab(
        tmp_path_factory.mktemp(request.param),
        image_cache,
        name=f"jobs-{request.param}-{os.getpid()}",
        local={"release": request.param},
        storage={"shared": {"mount": "/shared"}},
        users={"alice": {}, "bob": {}},
    )
    with lab.while_up():
        yield lab


@pytest.fixture(scope="module")
def alice(lab: Lab) -> Person:
    person = Person(lab, "alice")
    person.write("train.py", TRAIN.read_text())
    person.write("fit.py", FIT.read_text())
    return person


def states(alice: Person) -> list[str]:
    return sorted(alice.sh("squeue -h -u alice -o %T").split())


def test_a_job_runs_the_project_as_it_was_and_its_exit_code_is_the_commands(alice: Person) -> None:
    alice.write(
        "hello.py", "import getpass, os\nprint(getpass.getuser(), os.environ['CUDA_VISIBLE_DEVICES'])\nexit(3)\n"
    )
    alice.write(".gitignore", "secret\n")
    alice.write("secret", "not for the job")
    said = alice.sh("corral run hello.py; echo code=$?; corral run ls -A; echo precious > mine; corral run cat mine")
    assert "alice 0\n" in said
    assert "code=3" in said
    assert "secret" not in said.replace("not for", "")
    assert "precious" in said


def test_a_command_has_all_the_cpus_that_its_job_was_given(alice: Person) -> None:
    assert alice.corral("run", "--gpus", "0", "--cpus", "2", "--no-folder", "nproc").splitlines()[-1] == "2"


def test_what_dry_run_prints_is_what_is_sent(alice: Person) -> None:
    args = ["--time", "2h", "--mem", "512M", "--cpus", "1", "--name", "two words", "echo", "a b", "$HOME", "it's"]
    shown = alice.corral("run", "--dry-run", *args)
    job = alice.start(*args)
    sent = alice.sh(f"cd $(scontrol show job {job} | sed -n 's/ *WorkDir=//p') && cat batch.sh && pwd")
    script, _, folder = sent.rstrip().rpartition("\n")
    token = shown.split("CORRAL_JOB=")[1].split()[0]
    assert shown.replace(token, Path(folder).name) == script + "\n"
    eventually(lambda: alice.corral("logs", job) == "a b $HOME it's\n")


def test_three_jobs_have_a_gpu_each_and_a_fourth_waits_for_one(alice: Person) -> None:
    wait = "until [ -e ~/go ]; do read -t 0.2 <> <(:); done; echo $SLURMD_NODENAME"
    jobs = [alice.start("bash", "-c", wait) for _ in range(4)]
    eventually(lambda: states(alice) == ["PENDING", "RUNNING", "RUNNING", "RUNNING"])
    assert "GPU" in alice.corral("why", jobs[3])
    alice.sh("touch ~/go")
    eventually(lambda: states(alice) == [])
    nodes = [alice.corral("logs", job).strip() for job in jobs]
    assert sorted(nodes[:3]) == ["node0", "node1", "node2"]
    assert nodes[3] in nodes[:3]


def test_a_job_waits_for_the_one_it_comes_after(alice: Person) -> None:
    first = alice.start("bash", "-c", "sleep 2; date +%s.%N > ~/first")
    second = alice.start("--after", first, "bash", "-c", "cat ~/first; date +%s.%N")
    eventually(lambda: alice.corral("logs", second).count("\n") == 2)
    ended, began = map(float, alice.corral("logs", second).split())
    assert ended < began


@needs_torch
def test_a_training_on_three_nodes_learns_the_same_on_each_and_keeps_a_log_per_rank(alice: Person) -> None:
    said = alice.corral(
        "run", "--nodes", "3", "--ddp", "--env", TORCH, "train.py", "--ddp", "--steps", "20", timeout_s=240
    )
    assert sorted(losses(said)) == list(range(20))
    job = alice.sh("sacct -nX -u alice -o jobid | tail -n 1").strip()
    hosts = [alice.corral("logs", job, "--rank", str(rank)).split("started on ")[1].split()[0] for rank in range(3)]
    assert hosts == ["node0", "node1", "node2"]


@needs_torch
def test_two_distributed_jobs_on_the_same_nodes_do_not_meet(alice: Person) -> None:
    options = ["--nodes", "2", "--gpus", "0", "--mem", "1500M", "--ddp", "--env", TORCH]
    jobs = [alice.start(*options, "train.py", "--ddp", "--steps", "5", "--lr", rate) for rate in ("0.01", "0.1")]
    ends = [alice.corral("logs", "-f", job, timeout_s=240) for job in jobs]
    assert [sorted(losses(said)) for said in ends] == [list(range(5))] * 2
    assert losses(ends[0]) != losses(ends[1])


@needs_torch
def test_the_rank_that_failed_first_is_named_with_its_traceback(alice: Person) -> None:
    alice.write(
        "fails.py",
        "import os, torch.distributed as dist\ndist.init_process_group('gloo')\n"
        "if dist.get_rank() == 1:\n    raise ValueError('bad batch')\ndist.barrier()\n",
    )
    job = alice.start("--nodes", "3", "--ddp", "--env", TORCH, "fails.py")
    alice.corral("logs", "-f", job, exit_code=None, timeout_s=240)
    why = alice.corral("why", job)
    assert "rank 1" in why
    assert "ValueError: bad batch" in why


def test_a_sweep_of_a_hundred_trials_has_its_table_and_its_plot(alice: Person) -> None:
    started = alice.corral("sweep", "--gpus", "0", "--grid", "lr=0.003,0.01,0.03,0.1", "--grid", "seed=0..24", "fit.py")
    assert "100 trials" in started
    eventually(lambda: alice.json("sweep", "status")["counts"]["done"] == 100, within_s=180, every_s=2)
    shown = alice.corral("sweep", "results", "--plot", "--csv", "results.csv", "--html", "results.html")
    assert "loss by lr" in shown
    rows = alice.read(f"{alice.home}/project/results.csv").splitlines()
    assert len(rows) == 101
    assert "<svg" in alice.read(f"{alice.home}/project/results.html")
    best = alice.json("sweep", "results")[0]
    assert best["loss"] == min(row["loss"] for row in alice.json("sweep", "results"))


def test_a_sweep_that_was_cancelled_is_resumed_and_runs_every_trial_once(alice: Person) -> None:
    alice.corral("sweep", "--gpus", "0", "--at-most", "2", "--grid", "n=0..5", "--no-folder",
                 "bash", "-c", "echo {n} >> ~/trials; [ {n} = 0 ] || [ -e ~/again ] || sleep 600")  # fmt: skip
    eventually(lambda: len(alice.read(f"{alice.home}/trials").split()) > 1)
    alice.corral("sweep", "cancel")
    eventually(lambda: alice.json("sweep", "status")["counts"]["running"] == 0)
    counts = alice.json("sweep", "status")["counts"]
    assert counts["cancelled"] >= 1
    assert counts["done"] + counts["cancelled"] == 6
    alice.sh("touch ~/again")
    alice.corral("sweep", "resume")
    eventually(lambda: alice.json("sweep", "status")["counts"]["done"] == 6, within_s=90)


_FROM_PYTHON = """
import asyncio, socket, corral

def where(number):
    if number < 0:
        raise ValueError("too small")
    return number * 2, socket.gethostname()

with corral.connect() as cluster:
    print("one", cluster.submit(where, 21, gpus=1).result(120))
    try:
        cluster.submit(where, -1).result(120)
    except ValueError as problem:
        print("raised", problem, "line" in str(problem.__cause__))
    jobs = cluster.map(where, range(4))
    print("states", cluster.wait(jobs, 120))
    print("hosts", len({job.result()[1] for job in jobs}))
    async def both():
        return await asyncio.gather(cluster.submit(where, 1), cluster.submit(where, 2))
    print("awaited", [value for value, _ in asyncio.run(both())])
    sweep = cluster.sweep("fit.py", grid={"lr": [0.01, 0.1], "seed": range(2)}, gpus=0)
    print("swept", sweep.wait(120)["done"], min(row["loss"] for row in sweep.results()) < 1)
    job = cluster.submit("bash", "-c", "sleep 600", folder=None)
    job.cancel()
    print("cancelled", job.wait(60))
    try:
        cluster.submit("bash", "-c", "echo so it goes; exit 7", folder=None).result(60)
    except corral.JobFailed as problem:
        print("failed", problem.code, "so it goes" in str(problem))
"""


def test_the_same_from_python(alice: Person) -> None:
    alice.write("drive.py", _FROM_PYTHON)
    said = alice.sh(f"{_PYTHON} drive.py", timeout_s=280).splitlines()
    assert said[0].startswith("one (42, 'node")
    assert said[1] == "raised too small True"
    assert said[2:] == [
        "states [0, 0, 0, 0]",
        "hosts 3",
        "awaited [2, 4]",
        "swept 4 True",
        "cancelled 130",
        "failed 7 True",
    ]


@needs_torch
def test_a_training_on_three_nodes_from_python(alice: Person) -> None:
    alice.write(
        "ddp.py",
        f"import corral\nwith corral.connect() as c:\n    job = c.submit('train.py', '--ddp', '--steps', '5', nodes=3, "
        f"ddp=True, env={TORCH!r})\n    job.result(240)\n    print(job.logs())\n",
    )
    assert sorted(losses(alice.sh(f"{_PYTHON} ddp.py", timeout_s=280))) == list(range(5))


def test_an_operator_far_away_runs_jobs_for_a_person_over_ssh(lab: Lab, tmp_path: Path) -> None:
    said = lab.corral("run", "--user", "bob", "--no-folder", "bash", "-c", "id -un; exit 5", exit_code=5)
    assert "bob" in said
    assert "whose jobs?" in lab.corral("run", "--no-folder", "true", exit_code=2)


def test_one_person_cannot_end_or_read_anothers_job(lab: Lab, alice: Person) -> None:
    job = alice.start("--no-folder", "bash", "-c", "sleep 600")
    bob = Person(lab, "bob")
    bob.write("x", "")
    assert bob.corral("cancel", job, exit_code=1)
    assert bob.corral("logs", job, exit_code=None) != ""
    alice.corral("cancel", job)
    eventually(lambda: states(alice) == [])


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--gpus", "9", "true"], "the most GPUs that one has is 1"),
        (["--gpus", "a100", "true"], "there are: rtx5090"),
        (["--partition", "none", "true"], "there are: main"),
        (["--env", "missing", "true"], "no virtual environment"),
        (["--time", "soon", "true"], "write a time such as"),
        (["missing.py"], "cannot be run"),
    ],
)
def test_bad_input_is_one_error_and_nothing_is_sent(alice: Person, args: list[str], message: str) -> None:
    before = alice.sh("ls /shared/jobs/alice")
    assert message in alice.corral("run", *args, exit_code=2)
    assert alice.sh("ls /shared/jobs/alice") == before
