"""Faults of real nodes, each injected for real, explained by the doctor, and mended where that is safe."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.lab import Lab, eventually, make_lab

# Slurm takes note of a reboot only if it does not simply let every node back in.
CONF = {"ReturnToService": 1, "SlurmdTimeout": 6}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, image_cache: Path) -> Iterator[Lab]:
    """A cluster with nothing wrong; a test leaves it so, or the next one finds more than it looks for."""
    folder = tmp_path_factory.mktemp("doctor")
    storage = {"shared": {"mount": "/shared"}}
    lab = make_lab(
        folder, image_cache, name=f"nodes-doctor-{os.getpid()}", users={"alice": {}}, slurm={"conf": CONF},
        storage=storage,
    )  # fmt: skip
    with lab.while_up():
        yield lab


def kinds(lab: Lab, *names: str) -> dict[str, dict[str, Any]]:
    """What the doctor finds, by kind."""
    return {finding["kind"]: finding for finding in lab.json("doctor", *names, exit_code=1)["findings"]}


def mend(lab: Lab, *names: str) -> list[str]:
    """What --fix did, after which no error is left."""
    report = lab.json("doctor", *names, "--fix")
    assert all(one["ok"] for one in report["mended"]), report
    return [f"{one['where']}: {one['summary']}" for one in report["mended"]]


def state(lab: Lab, node: str) -> str:
    return lab.ssh("node0", f"sinfo -h -n {node} -o %T").strip()


def test_a_stopped_slurmd_is_started_and_the_job_on_its_node_never_notices(lab: Lab) -> None:
    script = "until [ -e /shared/enough ]; do sleep 0.2; done; echo ended by itself"
    job = lab.as_user("alice", f"sbatch --parsable -w node1 --mem=100 -o /shared/job --wrap '{script}'").strip()
    eventually(lambda: "RUNNING" in lab.ssh("node0", f"squeue -h -j {job} -o %T"))
    lab.ssh("node1", "systemctl stop slurmd")
    assert kinds(lab)["slurmd-stopped"]["where"] == "node1"
    assert mend(lab) == ["node1: start slurmd"]
    lab.ssh("node0", "touch /shared/enough")
    eventually(lambda: "COMPLETED|0" in lab.ssh("node0", f"sacct -nPX -j {job} -o state,restarts"))
    assert lab.ssh("node0", "cat /shared/job").strip() == "ended by itself"


def test_a_stopped_munge_is_started(lab: Lab) -> None:
    lab.ssh("node1", "systemctl stop munge")
    assert set(kinds(lab)) == {"munge-stopped"}
    assert mend(lab) == ["node1: start munge, then start slurmd"]


def test_a_wrong_munge_key_is_replaced_by_the_cluster_s_own(lab: Lab) -> None:
    lab.ssh("node2", "head -c 128 /dev/zero | tr '\\0' Z > /etc/munge/munge.key; systemctl restart munge")
    assert set(kinds(lab, "node2")) == {"munge-key"}
    assert mend(lab, "node2") == ["node2: restore the munge key, then start munge, then start slurmd"]
    assert lab.json("up")["changed"] == 0


def test_a_missing_gpu_is_named_by_its_device_and_left_to_the_owner(lab: Lab) -> None:
    lab.ssh("node1", "rm /dev/nvidia0; systemctl restart --no-block slurmd")
    found = kinds(lab)
    assert set(found) == {"gpu-missing"}
    assert "/dev/nvidia0" in found["gpu-missing"]["what"]
    assert not found["gpu-missing"]["can_mend"]
    lab.ssh("node1", "mknod -m 666 /dev/nvidia0 c 195 0")
    mend(lab)


def test_nodes_that_have_less_than_declared_are_explained_and_resumed_once_it_is_right(lab: Lab) -> None:
    lab.ssh(
        "node0",
        "sed -i -e '/NodeName=node1/s/RealMemory=[0-9]*/RealMemory=9999999/' "
        "-e '/NodeName=node2/s/rtx5090:1/rtx5090:2/' /etc/slurm/slurm.conf; systemctl restart slurmctld slurmd",
    )
    for node in ("node1", "node2"):
        lab.ssh(node, "systemctl restart slurmd")
    eventually(lambda: {state(lab, "node1"), state(lab, "node2")} == {"inval"})
    found = kinds(lab)
    assert "9999999 MiB of memory are declared" in found["low-memory"]["what"]
    assert found["gpu-missing"]["where"] == "node2"
    assert "2" in found["gpu-missing"]["what"]
    status = lab.corral("status", exit_code=1)
    assert "less memory than declared" in status
    assert "a GPU is missing: 1 found, 2 declared" in status
    lab.corral("up")
    assert set(kinds(lab)) == {"cause-gone"}
    assert mend(lab) == ["node1: resume node1", "node2: resume node2"]
    assert {state(lab, "node1"), state(lab, "node2")} == {"idle"}


def test_a_node_that_lost_power_is_off_and_after_its_reboot_it_is_resumed(lab: Lab) -> None:
    asyncio.run(lab.machines.power_off("node2"))
    found = kinds(lab)
    assert found["machine-off"]["where"] == "node2"
    eventually(lambda: state(lab, "node2").startswith("down"))
    asyncio.run(lab.machines.power_on("node2"))
    eventually(lambda: "rebooted" in lab.ssh("node0", "sinfo -h -n node2 -o %E"))
    assert set(kinds(lab)) == {"rebooted"}
    assert "it rebooted unexpectedly" in lab.corral("status", exit_code=1)
    assert mend(lab) == ["node2: resume node2"]


def test_a_node_that_hangs_is_told_from_one_that_is_off(lab: Lab) -> None:
    asyncio.run(lab.machines.freeze("node2"))
    try:
        assert set(kinds(lab)) == {"machine-hangs"}
    finally:
        asyncio.run(lab.machines.thaw("node2"))
    eventually(lambda: state(lab, "node2") == "idle")


def test_a_node_that_cannot_talk_to_the_head_is_a_matter_of_the_network(lab: Lab) -> None:
    lab.ssh("node1", "ip route add blackhole 10.77.0.10")
    try:
        found = lab.json("doctor", exit_code=1)["findings"]
        assert {(finding["kind"], finding["where"]) for finding in found} == {("network", "node1")}
    finally:
        lab.ssh("node1", "ip route del blackhole 10.77.0.10")
    eventually(lambda: state(lab, "node1") == "idle")


def test_a_full_disk_where_slurmd_writes_is_found(lab: Lab) -> None:
    lab.ssh(
        "node2",
        "systemctl stop slurmd; mount -t tmpfs -o size=64k tmpfs /var/lib/slurm/slurmd; "
        "head -c 60000 /dev/zero > /var/lib/slurm/slurmd/fill; systemctl start --no-block slurmd",
    )
    assert set(kinds(lab)) == {"disk-full"}
    lab.ssh("node2", "umount /var/lib/slurm/slurmd")
    mend(lab)


def test_a_shared_folder_that_is_not_mounted_is_mounted_where_fstab_says_how(lab: Lab) -> None:
    lab.ssh("node1", "mkdir -p /mnt/kept; mount --bind /shared /mnt/kept; umount /shared")
    found = kinds(lab)
    assert found["mount-missing"]["where"] == "node1"
    assert not found["mount-missing"]["can_mend"]
    lab.ssh("node1", "echo '/mnt/kept /shared none bind 0 0' >> /etc/fstab")
    assert mend(lab) == ["node1: mount /shared"]
    lab.ssh("node1", "sed -i '/mnt.kept/d' /etc/fstab")


def test_what_a_person_drained_stays_drained_and_what_slurm_drained_comes_back(lab: Lab) -> None:
    lab.corral("node", "drain", "node1", "--reason", "swap the fan")
    # What slurmd says when a job's processes do not end; a process that cannot be killed needs broken hardware.
    lab.ssh("node0", "scontrol update nodename=node2 state=drain reason='Kill task failed'")
    assert set(kinds(lab)) == {"drained-by-a-person", "kill-task-failed"}
    assert mend(lab) == ["node2: resume node2"]
    assert (state(lab, "node1"), state(lab, "node2")) == ("drained", "idle")
    assert "taken out of service by a person: swap the fan" in lab.corral("status", exit_code=1)
    assert "node1 takes jobs again" in lab.corral("node", "resume", "node1")
    eventually(lambda: state(lab, "node1") == "idle")


def test_a_node_on_an_old_configuration_gets_the_current_one(lab: Lab) -> None:
    lab.ssh("node0", "sed -i 's/^KillWait=10/KillWait=11/' /etc/slurm/slurm.conf")
    assert "config-unread" in kinds(lab)
    lab.ssh("node0", "systemctl restart slurmctld slurmd")
    found = kinds(lab, "node1")
    assert set(found) == {"config-stale"}
    assert mend(lab, "node1") == ["node1: start slurmd"]
    lab.corral("up")


def test_a_node_that_is_newer_than_its_head_is_found(lab: Lab) -> None:
    lab.ssh(
        "node1",
        "printf '#!/bin/sh\\necho slurm-wlm 99.05.1\\n' > /usr/local/sbin/slurmd; chmod +x /usr/local/sbin/slurmd",
    )
    try:
        assert "Slurm 99.05.1 here" in kinds(lab)["version"]["what"]
    finally:
        lab.ssh("node1", "rm /usr/local/sbin/slurmd")


def test_a_stopped_controller_is_started(lab: Lab) -> None:
    lab.ssh("node0", "systemctl stop slurmctld")
    assert kinds(lab)["daemon-stopped"]["what"] == "slurmctld does not run"
    assert mend(lab) == ["node0: start slurmctld"]
