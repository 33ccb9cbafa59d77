"""What researchers and owners get from a freshly deployed cluster, on every Slurm release that Corral supports."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.lab import Lab, eventually, make_lab

USERS = {"alice": {}, "bob": {"limits": {"gpus": 1}, "shares": 2}}


@pytest.fixture(scope="module", params=["trixie", "bookworm", "forky"])
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, image_cache: Path) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp(request.param)
    lab = make_lab(
        folder, image_cache, name=f"{request.param}-{os.getpid()}", local={"release": request.param}, users=USERS
    )
    with lab.while_up():
        yield lab


def queue(lab: Lab, user: str) -> list[str]:
    return sorted(lab.ssh("node0", f"squeue -h -u {user} -o '%T %r'").splitlines())


def cancel_all(lab: Lab) -> None:
    lab.ssh("node0", "scancel -u alice; scancel -u bob")
    eventually(lambda: lab.ssh("node0", "squeue -h") == "")


def test_a_user_runs_a_command_on_all_nodes(lab: Lab) -> None:
    assert sorted(lab.as_user("alice", "srun -N3 hostname").split()) == ["node0", "node1", "node2"]


def test_a_second_up_has_nothing_to_do_and_plan_agrees(lab: Lab) -> None:
    assert lab.json("up")["changed"] == 0
    assert {step["verdict"] for step in lab.json("plan")["steps"]} == {"ok"}


def test_three_jobs_with_a_gpu_each_run_at_once_and_a_fourth_waits_and_accounting_knows_them(lab: Lab) -> None:
    for _ in range(4):
        lab.as_user("alice", "sbatch -Q --gres=gpu:rtx5090:1 -n1 --mem=100 -o /dev/null --wrap 'sleep 600'")
    eventually(lambda: queue(lab, "alice") == ["PENDING Resources", *["RUNNING None"] * 3])
    nodes = lab.ssh("node0", "squeue -h -u alice -t R -o %N").split()
    assert sorted(nodes) == ["node0", "node1", "node2"]
    cancel_all(lab)

    def cancelled() -> int:
        listed = lab.ssh("node0", "sacct -nPX -u alice -S now-10minutes -o state,alloctres").splitlines()
        return sum("gres/gpu=1" in line and line.startswith("CANCELLED") for line in listed)

    # Accounting hears of it a moment later.
    eventually(lambda: cancelled() >= 3)


def test_a_job_with_a_gpu_may_open_it_and_a_job_without_may_not(lab: Lab) -> None:
    look = "dd if=/dev/nvidia0 count=1 of=/dev/null; echo devices=$CUDA_VISIBLE_DEVICES"
    granted = lab.as_user("alice", f"srun -w node1 --mem=100 --gres=gpu:1 sh -c '{look}' 2>&1")
    # A simulated GPU has no driver: allowed to open it, one is told that there is no such device.
    assert "No such device or address" in granted
    assert "devices=0" in granted
    denied = lab.as_user("alice", f"srun -w node1 --mem=100 sh -c '{look}' 2>&1")
    assert "Operation not permitted" in denied


def test_a_job_gets_its_cores_and_no_more(lab: Lab) -> None:
    assert lab.as_user("alice", "srun -n1 -c1 --mem=100 nproc").strip() == "1"


def test_a_job_that_takes_more_memory_than_it_asked_for_is_killed(lab: Lab) -> None:
    take = f'{sys.executable} -c "b = bytearray(400 << 20); print(len(b))"'
    refused = lab.as_user("alice", f"srun -n1 --mem=100 {take} 2>&1", exit_code=None)
    assert "419430400" not in refused
    assert "oom" in refused.lower() or "killed" in refused.lower()
    assert "419430400" in lab.as_user("alice", f"srun -n1 --mem=600 {take}")


def test_a_users_gpu_limit_holds_back_the_second_job(lab: Lab) -> None:
    for _ in range(2):
        lab.as_user("bob", "sbatch -Q --gres=gpu:1 -n1 --mem=100 -o /dev/null --wrap 'sleep 600'")
    eventually(lambda: queue(lab, "bob") == ["PENDING AssocGrpGRES", "RUNNING None"])
    cancel_all(lab)


def test_normal_work_sends_scavenger_work_back_to_the_queue_after_it_saved_itself(lab: Lab) -> None:
    step = 'trap "echo saved; exit 85" USR1; echo begun; sleep 600 & wait'
    where = "-N1 -w node2 --exclusive"
    scavenge = f"sbatch --parsable --qos=scavenger --signal=USR1@1 {where} -o /shared/scavenger-%j"
    job = lab.as_user("alice", f"{scavenge} <<'END'\n#!/bin/sh\nsrun sh -c '{step}'\nEND").strip()
    eventually(lambda: "begun" in lab.ssh("node0", f"cat /shared/scavenger-{job}", exit_code=None))
    assert lab.as_user("alice", f"srun -Q {where} hostname").strip() == "node2"
    assert "saved" in lab.ssh("node0", f"cat /shared/scavenger-{job}")
    assert "Restarts=1" in lab.ssh("node0", f"scontrol show job {job}")
    cancel_all(lab)


def test_somebody_without_an_account_may_not_submit(lab: Lab) -> None:
    said = lab.ssh("node0", "runuser -u nobody -- srun -n1 true", exit_code=None)
    assert "Invalid account" in said


def test_the_rest_service_serves_a_users_token_and_refuses_everybody_else(lab: Lab) -> None:
    token = lab.ssh("node0", "scontrol token username=alice lifespan=600").strip().removeprefix("SLURM_JWT=")
    api = {"22": "v0.0.38", "24": "v0.0.42", "26": "v0.0.45"}[lab.ssh("node0", "scontrol -V").split()[1][:2]]
    url = f"http://10.77.0.10:6820/slurm/{api}/nodes"
    call = f"curl -s -m 20 -o /tmp/answer -w '%{{http_code}}' {url}"
    assert lab.ssh("node1", f"{call} -H 'X-SLURM-USER-NAME: alice' -H 'X-SLURM-USER-TOKEN: {token}'") == "200"
    names = [node["name"] for node in json.loads(lab.ssh("node1", "cat /tmp/answer"))["nodes"]]
    assert sorted(names) == ["node0", "node1", "node2"]
    assert lab.ssh("node1", call) in ("401", "500", "511")
    assert lab.ssh("node1", f"{call} -H 'X-SLURM-USER-NAME: alice' -H 'X-SLURM-USER-TOKEN: {token}x'") in (
        "401",
        "500",
        "511",
    )
    assert lab.ssh("node0", "ps -o user:20= -C slurmrestd").strip() == "slurmrest"


def test_everybody_has_the_same_ids_everywhere(lab: Lab) -> None:
    ids = {
        lab.ssh(node, "for name in munge slurm alice bob; do id $name; done") for node in ("node0", "node1", "node2")
    }
    assert len(ids) == 1


def test_logs_can_be_rotated_while_the_daemons_write_them(lab: Lab) -> None:
    lab.ssh("node0", "logrotate -f /etc/logrotate.conf")
    lab.ssh("node0", "scontrol reconfigure")
    eventually(lambda: lab.ssh("node0", "cat /var/log/slurm/slurmctld.log", exit_code=None) != "")
    assert "slurmctld.log.1" in lab.ssh("node0", "ls /var/log/slurm")
