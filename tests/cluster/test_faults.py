"""Deployments that go wrong on real machines: killed, cut off, hung, edited by hand, or two at once."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cluster.lab import Lab, elsewhere, eventually, make_lab


@pytest.fixture
def bare(tmp_path: Path, image_cache: Path) -> Iterator[Lab]:
    """Three machines' worth of cluster file; nothing is up yet."""
    lab = make_lab(tmp_path, image_cache, name=f"bare-{os.getpid()}")
    try:
        yield lab
    finally:
        lab.corral("down")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, image_cache: Path) -> Iterator[Lab]:
    """A cluster that is up; a test that breaks something mends it by `up`."""
    lab = make_lab(tmp_path_factory.mktemp("up"), image_cache, name=f"up-{os.getpid()}", users={"alice": {}})
    with lab.while_up():
        yield lab


def works(lab: Lab, nodes: int = 3) -> bool:
    return len(lab.ssh("node0", f"timeout 60 srun -N{nodes} hostname").split()) == nodes


def watch(process: subprocess.Popen[str], wanted: Callable[[dict[str, str]], bool]) -> dict[str, str] | None:
    """Read a running `up --json` until an event is as wanted; None when it ended without one."""
    assert process.stdout is not None
    for line in process.stdout:
        event = json.loads(line) if line.startswith("{") else {}
        if wanted(event):
            return dict(event)
    return None


def up_until_change(lab: Lab, count: int) -> bool:
    """Run `up` and kill it right after its count-th change; False when it ended before."""
    with lab.start("up", "--json") as process:
        for _ in range(count):
            if watch(process, lambda event: event.get("kind") == "changed") is None:
                return False
        process.kill()
    return True


@pytest.mark.timeout(900)
def test_up_killed_after_every_single_change_in_turn_heals(tmp_path: Path, image_cache: Path) -> None:
    lab = make_lab(tmp_path, image_cache, machines=1, name=f"killed-{os.getpid()}", users={"alice": {}})
    kills = 0
    while True:
        try:
            if not up_until_change(lab, kills + 1):
                break
            kills += 1
            lab.corral("up")
            assert lab.as_user("alice", "srun -n1 --mem=100 --gres=gpu:1 hostname").strip() == "node0", kills
            assert {step["verdict"] for step in lab.json("plan")["steps"]} == {"ok"}, kills
        finally:
            lab.corral("down")
    assert kills >= 15


def test_up_killed_again_and_again_still_gets_there(tmp_path: Path, image_cache: Path) -> None:
    lab = make_lab(tmp_path, image_cache, machines=2, name=f"again-{os.getpid()}")
    try:
        kills = 0
        while up_until_change(lab, 1):
            kills += 1
            assert kills < 60
        assert kills >= 5
        assert lab.json("up")["changed"] == 0
        assert works(lab, nodes=2)
    finally:
        lab.corral("down")


@pytest.mark.parametrize(
    ("fault", "mend"),
    [("freeze", "thaw"), ("power_off", "power_on"), ("unplug", "plug")],
    ids=["hangs", "loses power", "loses its network"],
)
def test_a_machine_lost_in_mid_deployment_is_named_and_the_next_up_finishes(bare: Lab, fault: str, mend: str) -> None:
    with bare.start("up", "--json") as process:
        assert watch(process, lambda event: event.get("host") == "node1" and event.get("kind") == "started")
        asyncio.run(getattr(bare.machines, fault)("node1"))
        output = process.communicate(timeout=120)[0]
    report = json.loads(output.splitlines()[-1])["report"]
    assert process.returncode == 1
    assert not report["ok"]
    assert {outcome["host"] for outcome in report["outcomes"] if outcome["result"] == "lost"} == {"node1"}
    assert {outcome["host"] for outcome in report["outcomes"] if outcome["result"] in ("failed", "blocked")} == {
        "node1"
    }
    assert works(bare, nodes=2)
    asyncio.run(getattr(bare.machines, mend)("node1"))
    bare.corral("up")
    assert works(bare)
    assert bare.json("up")["changed"] == 0


def test_a_machine_that_cannot_be_reached_is_named_and_keeps_its_place_in_the_cluster(lab: Lab) -> None:
    asyncio.run(lab.machines.unplug("node2"))
    try:
        report = lab.json("plan", exit_code=1)
        assert set(report["missing"]) == {"node2"}
        assert {step["verdict"] for step in report["steps"]} == {"ok"}
        status = lab.corral("status", exit_code=1)
        assert "node2: not reachable" in status
    finally:
        asyncio.run(lab.machines.plug("node2"))
    eventually(lambda: lab.json("status", exit_code=None)["ok"])


def test_two_at_once_the_second_refuses_and_says_who_is_at_work(lab: Lab, tmp_path: Path) -> None:
    # A daemon that takes its time keeps the first one busy.
    slow = "/etc/systemd/system/slurmd.service.d/slow.conf"
    lab.ssh("node1", f"printf '[Service]\\nExecStartPre=/bin/sleep 10\\n' > {slow}; systemctl stop slurmd")
    with lab.start("up", "--json") as first:
        assert watch(first, lambda event: event.get("kind") == "started")
        said = lab.corral("up", exit_code=1)
        assert f"pid {first.pid}" in said
        assert "another operator is at work" in said
        # An operator elsewhere shares nothing with the first one but the machines.
        assert f"pid {first.pid}" in elsewhere(lab, tmp_path).corral("up", exit_code=1)
        first.communicate(timeout=120)
        assert first.returncode == 0
    lab.ssh("node1", f"rm {slow}; systemctl daemon-reload")
    assert works(lab)


def test_a_killed_operator_does_not_leave_the_cluster_locked(lab: Lab) -> None:
    lab.ssh("node1", "systemctl stop slurmd")
    with lab.start("up", "--json") as first:
        assert watch(first, lambda event: event.get("kind") == "started")
        first.kill()
        first.wait()
    eventually(lambda: lab.corral("up", exit_code=0), within_s=30)
    assert works(lab)


def test_a_hand_edited_slurm_conf_shows_in_plan_and_is_repaired(lab: Lab) -> None:
    lab.ssh(
        "node0", "sed -i 's/SlurmdTimeout=30/SlurmdTimeout=31/' /etc/slurm/slurm.conf && systemctl restart slurmctld"
    )
    shown = lab.corral("plan", "--diff")
    assert "rewrite /etc/slurm/slurm.conf" in shown
    assert "-SlurmdTimeout=31" in shown
    assert "+SlurmdTimeout=30" in shown
    assert "slurmctld: depends on slurmctld files" in shown
    lab.corral("up")
    assert "SlurmdTimeout           = 30 sec" in lab.ssh("node0", "scontrol show config")
    assert lab.json("up")["changed"] == 0
    assert works(lab)


def test_a_hand_edited_munge_key_shows_in_plan_without_being_shown_and_is_repaired(lab: Lab) -> None:
    spoil = "head -c 128 /dev/zero | tr '\\0' Z > /etc/munge/munge.key; systemctl restart munge"
    lab.ssh("node2", spoil)
    key = (lab.state / "clusters" / lab.spec.name / "munge.key").read_bytes()
    shown = lab.corral("plan", "--diff") + lab.corral("plan", "--json")
    assert "rewrite /etc/munge/munge.key" in shown
    assert "ZZZZ" not in shown
    assert key.hex() not in shown
    assert works(lab, nodes=2)
    lab.corral("up")
    eventually(lambda: works(lab))


def test_jobs_survive_slurmctld_killed_with_9(lab: Lab) -> None:
    job = lab.as_user("alice", "sbatch --parsable -N3 --mem=100 -o /shared/survives --wrap 'sleep 14; echo survived'")
    job = job.strip()
    eventually(lambda: "RUNNING" in lab.ssh("node0", f"squeue -h -j {job} -o %T"))
    # Slurm itself forgets what is younger than its last state save, which may be five seconds ago.
    eventually(lambda: int(lab.ssh("node0", f"squeue -h -j {job} -o %M").split(":")[-1]) >= 7)
    lab.ssh("node0", "kill -9 $(pidof slurmctld)")
    eventually(lambda: "COMPLETED" in lab.ssh("node0", f"sacct -nPX -j {job} -o state", exit_code=None))
    assert lab.ssh("node0", "cat /shared/survives").strip() == "survived"
    assert lab.json("up")["changed"] == 0


@pytest.mark.parametrize("machine", ["node1", "node0"], ids=["a node", "the head"])
def test_after_a_reboot_the_cluster_comes_back_by_itself(lab: Lab, machine: str) -> None:
    before = lab.ssh(machine, "cat /proc/sys/kernel/random/boot_id; stat -c %Y /proc/1")
    lab.ssh(machine, "systemctl reboot", exit_code=None)
    eventually(
        lambda: lab.ssh(machine, "cat /proc/sys/kernel/random/boot_id; stat -c %Y /proc/1", exit_code=None) != before
    )
    eventually(lambda: lab.json("status", exit_code=None)["ok"], within_s=90)
    eventually(lambda: works(lab))
    assert lab.json("up")["changed"] == 0


def test_a_stopped_daemon_is_named_by_status_and_mended_by_up(lab: Lab) -> None:
    lab.ssh("node1", "systemctl stop munge")
    said = lab.corral("status", exit_code=1)
    assert "node1: munge is inactive" in said
    lab.corral("up")
    eventually(lambda: lab.json("status", exit_code=None)["ok"])
