"""From a fresh Debian with SSH to a cluster and back again, the way an owner of machines goes."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cluster.lab import Lab, static_lab

from corral.providers.local import LocalMachines
from corral.spec.model import LocalSpec

# The machines fetch their packages from the distribution's mirror.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
NODES = ("node0", "node1")
JOB = "cd /tmp && runuser -u alice -- srun -N2 --gres=gpu:1 hostname"


@dataclass(frozen=True)
class Bare:
    """Two machines, and the packages that they had on the first day."""

    lab: Lab
    machines: LocalMachines
    packages: dict[str, str]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory, image_cache: Path) -> Iterator[Bare]:
    folder = tmp_path_factory.mktemp("bare")
    machines = LocalMachines(folder / "local", image_cache, f"bare-{os.getpid()}", LocalSpec(), contents="bare")
    try:
        found = asyncio.run(machines.up(NODES, lambda _: None))
        lab = static_lab(found, folder, image_cache, name="bare", users={"alice": {}})
        yield Bare(lab, machines, {node: packages(lab, node) for node in NODES})
    finally:
        asyncio.run(machines.down())


def packages(lab: Lab, node: str) -> str:
    return lab.ssh(node, "dpkg-query -W -f '${db:Status-Abbrev}${Package}\\n'")


def test_a_plan_for_bare_machines_says_what_will_come_and_what_cannot_be_known_yet(bare: Bare) -> None:
    assert "slurm" not in "".join(bare.packages.values())
    steps = {(step["host"], step["step"]): step for step in bare.lab.json("plan")["steps"]}
    for node in NODES:
        assert steps[node, "packages"]["summary"] == "install the distribution's packages"
        assert steps[node, "slurmd"]["verdict"] == "change"
    assert steps["node1", "unneeded daemons"]["waits_for"] == "packages"


def test_an_installation_cut_off_with_its_operator_is_mended_by_the_next_up(bare: Bare) -> None:
    shown: list[str] = []
    with bare.lab.start("up", "--json") as process:
        assert process.stdout is not None
        for line in process.stdout:
            event = json.loads(line) if line.startswith("{") else {}
            if event.get("kind") == "output" and event["host"] == "node1":
                shown.append(event["text"])
            if shown and "Unpacking slurm" in shown[-1]:
                break
        process.kill()
    assert any(line.startswith("Get:") for line in shown), "downloads are to be seen"
    asyncio.run(bare.machines.power_off("node1"))
    asyncio.run(bare.machines.up(NODES, lambda _: None))
    assert "Written by Corral" in bare.lab.ssh("node1", "cat /usr/sbin/policy-rc.d")
    # Left behind it does no harm: nobody holds its lock.
    bare.lab.ssh("node1", "/usr/sbin/policy-rc.d ssh start")
    report = bare.lab.json("up")
    assert report["ok"]
    assert sorted(bare.lab.ssh("node0", JOB).split()) == list(NODES)


def test_what_was_installed_is_as_wanted(bare: Bare) -> None:
    ids = {bare.lab.ssh(node, "for name in munge slurm alice; do id $name; done") for node in NODES}
    assert len(ids) == 1
    assert "uid=930(munge)" in ids.pop()
    for node in NODES:
        bare.lab.ssh(node, "[ ! -e /usr/sbin/policy-rc.d ] && dpkg --audit | wc -l | grep -qx 0")
        assert bare.lab.ssh(node, "systemctl --failed --no-legend") == ""
        # Each daemon was started once, by its own step; none tried while it was being installed.
        starts = bare.lab.ssh(node, "journalctl -q -u slurmd -o cat | grep -c '^Starting\\|^Started'")
        assert int(starts) <= 2
        brought = bare.lab.ssh(node, "cat /etc/corral/installed")
        assert "package slurmd\n" in brought
        assert "account munge\n" in brought
        assert "package systemd\n" not in brought
    assert bare.lab.json("up")["changed"] == 0


def test_down_keeps_the_data_and_up_brings_everything_back(bare: Bare) -> None:
    before = bare.lab.ssh("node0", "sacct -nXP -S now-1hour -o jobid,state")
    assert "COMPLETED" in before
    assert "/var/lib/mysql" in bare.lab.corral("down")
    for node in NODES:
        assert bare.lab.ssh(node, "ss -Hltn | grep -v ':22 ' || true") == ""
        assert bare.lab.ssh(node, "systemctl is-enabled munge slurmd", exit_code=None).split() == ["disabled"] * 2
    bare.lab.corral("up")
    assert bare.lab.ssh("node0", "sacct -nXP -S now-1hour -o jobid,state") == before


def test_purge_asks_and_then_leaves_the_machines_as_they_were(bare: Bare) -> None:
    assert "--yes" in bare.lab.corral("down", "--purge", exit_code=2)
    for node in NODES:
        assert bare.lab.ssh(node, "runuser -u alice -- corral version").startswith("corral ")
    bare.lab.ssh("node0", "echo mine > /home/alice/data; echo keep > /srv/keep")
    # What somebody else came to need in the meantime stays.
    bare.lab.ssh("node1", "apt-get -qq install -y --no-install-recommends libmunge-dev >/dev/null 2>&1")
    report = bare.lab.json("down", "--purge", "--yes")
    assert "node0: the accounts and homes of alice" in report["kept"]
    assert any(line.startswith("node1: packages that others need:") and "libmunge2" in line for line in report["kept"])
    assert packages(bare.lab, "node0") == bare.packages["node0"]
    assert "slurm" not in packages(bare.lab, "node1")
    ours = "/opt/corral /usr/local/bin/corral /etc/corral/site.json /etc/corral/installed"
    slurms = "/etc/slurm /etc/munge /etc/mysql /var/lib/slurm /var/lib/mysql /var/log/slurm"
    for node in NODES:
        assert "/" not in bare.lab.ssh(node, f"ls -d {ours} {slurms} 2>/dev/null", exit_code=None)
        assert bare.lab.ssh(node, "grep -c corral /etc/hosts", exit_code=None).strip() == "0"
        assert bare.lab.ssh(node, "id -u slurm munge 2>/dev/null", exit_code=None) == ""
        assert bare.lab.ssh(node, "find /etc/systemd -name 'corral.conf'") == ""
    assert bare.lab.ssh("node0", "cat /home/alice/data /srv/keep").split() == ["mine", "keep"]


def test_up_after_a_purge_makes_a_new_cluster(bare: Bare) -> None:
    bare.lab.corral("up", timeout_s=600)
    assert sorted(bare.lab.ssh("node0", JOB).split()) == list(NODES)
    assert bare.lab.ssh("node0", "cat /home/alice/data").strip() == "mine"
    bare.lab.corral("down", "--purge", "--yes")
    assert bare.lab.json("down", "--purge", "--yes")["purged"]
