"""What was submitted runs to its end, whatever dies on the way: each fault is made for real."""

from __future__ import annotations

import asyncio
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.lab import Lab, eventually, make_lab
from tests.cluster.people import TORCH, TRAIN, Person, losses, needs_torch

# Real jobs on real machines, and perhaps a busy computer.
pytestmark = pytest.mark.timeout(900)

_STEPS = 150


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, image_cache: Path) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("lost")
    storage = {"shared": {"mount": "/shared"}}
    lab = make_lab(folder, image_cache, name=f"lost-{os.getpid()}", storage=storage, users={"alice": {}})
    with lab.while_up():
        yield lab


@pytest.fixture(scope="module")
def alice(lab: Lab) -> Person:
    person = Person(lab, "alice")
    person.write("train.py", TRAIN.read_text())
    return person


@pytest.fixture(scope="module")
def undisturbed(alice: Person) -> dict[int, str]:
    """The losses of a training that nothing happened to."""
    return losses(alice.corral("run", "--env", TORCH, "train.py", "--steps", str(_STEPS), timeout_s=240))


def settled(lab: Lab) -> bool:
    # Of people's jobs: a controller that is killed may forget that a job of the check after `up` has ended.
    return lab.ssh("node0", "ls /shared/jobs/.open; squeue -h -u alice") == ""


def runs(alice: Person, file: str) -> Counter[str]:
    return Counter(alice.read(f"{alice.home}/{file}").split())


@needs_torch
def test_a_job_whose_time_is_over_goes_on_where_it_was(alice: Person, undisturbed: dict[int, str]) -> None:
    job = alice.start("--time", "1m", "--env", TORCH, "train.py", "--steps", str(_STEPS), "--step-s", "0.5")
    alice.corral("logs", "-f", job, timeout_s=280)
    said = alice.log(job)
    assert "stopped by SIGUSR1" in said
    assert re.search(r"continued at step [1-9]", said)
    assert losses(said) == undisturbed


@needs_torch
def test_a_preempted_job_saves_its_work_makes_room_and_goes_on(alice: Person, undisturbed: dict[int, str]) -> None:
    steps = ["--steps", str(_STEPS), "--step-s", "0.2"]
    jobs = [alice.start("--qos", "scavenger", "--env", TORCH, "train.py", *steps) for _ in range(3)]
    eventually(lambda: all("step 5 " in alice.log(job) for job in jobs), within_s=120)
    assert "made it" in alice.corral("run", "--no-folder", "echo", "made it")
    for job in jobs:
        alice.corral("logs", "-f", job, timeout_s=240)
    said = [alice.log(job) for job in jobs]
    assert [losses(text) for text in said] == [undisturbed] * 3
    assert sum("stopped by SIGUSR1" in text for text in said) == 1
    assert sum("continued at step" in text for text in said) == 1


@needs_torch
def test_a_training_whose_node_dies_goes_on_elsewhere_from_its_checkpoint(lab: Lab, alice: Person) -> None:
    train = ["train.py", "--ddp", "--steps", "40"]
    expected = losses(alice.corral("run", "--nodes", "2", "--ddp", "--env", TORCH, *train, timeout_s=240))
    # node1 and node2: the head is busy until the training runs there.
    blocker = alice.start("--no-folder", "bash", "-c", "until [ -e ~/away ]; do read -t 0.2 <> <(:); done")
    eventually(lambda: "node0" in alice.sh(f"squeue -h -j {blocker} -o %N"))
    job = alice.start("--nodes", "2", "--ddp", "--env", TORCH, *train, "--step-s", "0.5", "--every-s", "2")
    eventually(lambda: "saved step" in alice.log(job), within_s=120)
    alice.sh("touch ~/away")
    asyncio.run(lab.machines.power_off("node2"))
    try:
        eventually(lambda: "continued at step" in alice.log(job), within_s=200, every_s=2)
        alice.corral("logs", "-f", job, timeout_s=240)
    finally:
        lab.corral("up", timeout_s=300)
    assert losses(alice.log(job)) == expected


def test_twenty_submissions_survive_a_controller_that_is_killed_after_each(lab: Lab, alice: Person) -> None:
    alice.write("send.sh", 'cd ~/project; corral run --detach --no-folder --gpus 0 bash -c "echo $1 >> ~/twenty"\n')
    send, kill = 'su - alice -c "bash project/send.sh $i"', "systemctl kill -s KILL slurmctld"
    lab.ssh("node0", f"for i in $(seq 20); do {send} || exit 1; sleep 0.2; {kill}; done", timeout_s=280)
    eventually(lambda: settled(lab), within_s=300, every_s=2)
    assert runs(alice, "twenty") == Counter(str(number) for number in range(1, 21))


def test_a_sweep_whose_controller_is_killed_runs_each_trial_once(lab: Lab, alice: Person) -> None:
    sweep = 'corral sweep --gpus 0 --no-folder --grid n=0..19 bash -c "echo {n} >> ~/swept"'
    lab.ssh("node0", f"su - alice -c 'cd ~/project && {sweep}'; systemctl kill -s KILL slurmctld")
    eventually(lambda: settled(lab), within_s=300, every_s=2)
    assert runs(alice, "swept") == Counter(str(number) for number in range(20))
    assert alice.json("sweep", "status")["counts"]["done"] == 20


_FORGET_THE_END = """
state=/var/lib/slurm/slurmctld
until job=$(squeue -h -u alice -t R -o %A | grep .); do sleep 0.2; done
touch /run/running; scontrol update jobid=$job comment=running
until [ $state/job_state -nt /run/running ]; do sleep 0.2; done
rm -rf /run/state; cp -a $state /run/state
touch /shared/home/alice/end
while squeue -h -u alice | grep -q .; do sleep 0.2; done
systemctl kill -s KILL slurmctld; systemctl stop slurmctld
cp -a /run/state/. $state; systemctl start slurmctld
"""
"""What the disk had while the job ran is what a controller finds that died before its next state save."""


@pytest.mark.parametrize("command", ["run --detach", "sweep --grid n=0"], ids=["a job", "a trial"])
def test_a_job_that_ended_in_a_killed_controllers_last_seconds_does_not_keep_its_node(
    lab: Lab, alice: Person, command: str
) -> None:
    alice.sh("rm -f ~/end ~/ended")
    wait = "until [ -e ~/end ]; do read -t 0.2 <> <(:); done; echo once >> ~/ended; exit 3"
    alice.sh(f"corral {command} --no-folder bash -c '{wait}'")
    lab.ssh("node0", _FORGET_THE_END)
    assert "RUNNING" in lab.ssh("node0", "squeue -h -u alice -o %T")
    eventually(lambda: settled(lab), within_s=100, every_s=2)
    assert runs(alice, "ended") == Counter(["once"])
    assert "FAILED" in lab.ssh("node0", "squeue -h -u alice -t all -o '%V %T' | sort | tail -n 1")


@pytest.mark.parametrize("command", ["run --detach", "sweep --grid n=0..1"])
def test_a_client_that_is_killed_at_any_moment_leaves_all_of_it_or_nothing(
    lab: Lab, alice: Person, command: str
) -> None:
    file = command.split()[0]
    units = 2 if file == "sweep" else 1
    killed = f"""
cd ~/project
for tenths in 1 2 3 4 5 6 7 8; do
  timeout -s KILL 0.$tenths corral {command} --gpus 0 --name try$tenths bash -c "echo $tenths >> ~/{file}"
done; true
"""
    alice.write("killed.sh", killed)
    alice.sh("bash killed.sh")
    eventually(lambda: settled(lab), within_s=300, every_s=2)
    found = runs(alice, file)
    assert set(found.values()) <= {units}
    sent = alice.sh("cat /shared/jobs/alice/*/job.json | grep -c '\"try'", exit_code=None).strip()
    assert int(sent) >= len(found)


def test_closing_the_terminal_changes_nothing(lab: Lab, alice: Person) -> None:
    runs = "until squeue -h -u alice -t R | grep -q .; do sleep 0.1; done"
    job = "bash -c 'sleep 5; echo done > ~/closed'"
    alice.write("close.sh", f"corral run --no-folder {job} & {runs}; kill -HUP $!; wait\n")
    alice.sh("bash close.sh", exit_code=None)
    eventually(lambda: alice.read(f"{alice.home}/closed") == "done\n")
