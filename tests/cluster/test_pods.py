"""Machines without systemd, such as rented pods: supervisord runs the same daemons, over the same SSH."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.lab import Lab, eventually, static_lab

from corral.providers.local import LocalMachines
from corral.spec.model import LocalSpec


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, image_cache: Path) -> Iterator[Lab]:
    """Two pods, known to the operator by their addresses only."""
    folder = tmp_path_factory.mktemp("pods")
    pods = LocalMachines(folder / "local", image_cache, f"pods-{os.getpid()}", LocalSpec(), init="none")
    try:
        machines = asyncio.run(pods.up(["node0", "node1"], lambda _: None))
        lab = static_lab(machines, folder, image_cache, name="pods", users={"alice": {}})
        lab.corral("up")
        yield lab
    finally:
        asyncio.run(pods.down())


def test_a_user_runs_jobs_on_pods(lab: Lab) -> None:
    assert lab.ssh("node0", "cat /proc/1/comm").strip() != "systemd"
    command = "cd /tmp && runuser -u alice -- srun -N2 --gres=gpu:1 hostname"
    assert sorted(lab.ssh("node0", command).split()) == ["node0", "node1"]
    assert lab.json("up")["changed"] == 0


def test_a_killed_daemon_is_started_again(lab: Lab) -> None:
    lab.ssh("node1", "kill -9 $(pidof slurmd)")
    eventually(lambda: lab.ssh("node1", "pidof slurmd", exit_code=None).strip())
    eventually(lambda: lab.json("status", exit_code=None)["ok"])


def test_a_changed_configuration_reaches_the_running_daemons(lab: Lab) -> None:
    lab.ssh(
        "node0", "sed -i s/SlurmdTimeout=30/SlurmdTimeout=33/ /etc/slurm/slurm.conf; supervisorctl restart slurmctld"
    )
    assert "rewrite /etc/slurm/slurm.conf" in lab.corral("plan")
    lab.corral("up")
    assert "SlurmdTimeout           = 30 sec" in lab.ssh("node1", "scontrol show config")


def test_down_stops_the_daemons_and_keeps_the_data_and_up_brings_them_back(lab: Lab) -> None:
    said = lab.corral("down")
    assert "/var/lib/mysql" in said
    for node in ("node0", "node1"):
        assert lab.ssh(node, "pgrep -l 'slurm|munged|mariadbd' || true") == ""
    lab.corral("up")
    assert lab.ssh("node0", "sacct -nX -S now-1hour | wc -l").strip() != "0"
