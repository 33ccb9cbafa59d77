"""People come, change and go by the cluster file alone."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cluster.lab import Lab, eventually, make_lab

from corral.hosts.known_hosts import KnownHosts
from corral.hosts.openssh import ssh_command

NODES = ("node0", "node1")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, image_cache: Path) -> Iterator[Lab]:
    lab = make_lab(tmp_path_factory.mktemp("people"), image_cache, name=f"people-{os.getpid()}", machines=2)
    with lab.while_up():
        yield lab


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Alice's own key pair."""
    return new_key(tmp_path_factory.mktemp("alice") / "id")


def new_key(path: Path) -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "alice", "-f", str(path)], check=True)
    return path


def public(key: Path) -> str:
    return key.with_name(f"{key.name}.pub").read_text().strip()


def write(lab: Lab, **sections: Any) -> None:
    """Replace sections of the cluster file; nothing is done about it."""
    content = yaml.safe_load(lab.file.read_text()) | sections
    lab.file.write_text(yaml.safe_dump(content, sort_keys=False))


def set_users(lab: Lab, **users: dict[str, Any]) -> None:
    """Write these people into the file, and nobody else, and make it true."""
    write(lab, users=users)
    lab.corral("up")
    assert lab.json("up")["changed"] == 0


def log_in(lab: Lab, key: Path, command: str, node: str = "node0") -> subprocess.CompletedProcess[str]:
    """Run a command as alice does from her own computer: by SSH, with her key."""
    machine = next(machine for machine in lab.machines.machines() if machine.name == node)
    known = key.with_name("known_hosts")
    known.write_text(f"{machine.address} {machine.host_key}\n")
    argv = ssh_command(machine, KnownHosts(known), [command])
    argv[argv.index("-i") + 1] = str(key)
    argv[argv.index(f"root@{machine.address}")] = f"alice@{machine.address}"
    argv[argv.index("-p") : argv.index("-p")] = ["-o", "BatchMode=yes"]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)


def listed(lab: Lab, what: str) -> set[str]:
    return set(lab.ssh("node0", f"sacctmgr -nP list assoc where user=alice format={what}").split())


def test_somebody_new_logs_in_with_her_key_and_runs_jobs_under_her_own_id(lab: Lab, key: Path) -> None:
    set_users(lab, alice={"ssh_keys": [public(key)], "limits": {"gpus": 1}})
    uid = str(lab.spec.uid("alice"))
    for node in NODES:
        assert log_in(lab, key, "id -u; pwd", node).stdout.split() == [uid, "/home/alice"]
    ran = log_in(lab, key, "cd /tmp && srun -N2 -l id -u")
    assert sorted(ran.stdout.splitlines()) == [f"0: {uid}", f"1: {uid}"], ran.stderr
    assert log_in(lab, key, "stat -c %a ~ ~/.ssh/authorized_keys").stdout.split() == ["700", "600"]


def test_changed_keys_shares_limits_and_accounts_reach_the_cluster(lab: Lab, key: Path) -> None:
    own = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEIoLN48IxPasOpsTIxzGqA5+IpflU4NYHBOYtDgYNX6 added-by-herself"
    log_in(lab, key, f"echo '{own}' >> ~/.ssh/authorized_keys")
    new = new_key(key.with_name("new"))
    set_users(lab, alice={"ssh_keys": [public(new)], "shares": 3, "account": "vision", "limits": {"jobs": 4}})
    assert log_in(lab, key, "true").returncode == 255
    assert log_in(lab, new, "true").returncode == 0
    assert own in log_in(lab, new, "cat ~/.ssh/authorized_keys").stdout
    assert listed(lab, "account,fairshare,grptres,grpjobs,maxsubmit") == {"vision|3||4|", "research|0|gres/gpu=1||0"}
    assert "vision" in log_in(lab, new, "srun sh -c 'echo $SLURM_JOB_ACCOUNT'").stdout
    assert log_in(lab, new, "srun -A research true").returncode != 0
    set_users(lab, alice={"ssh_keys": [public(key)]})
    assert log_in(lab, new, "true").returncode == 255
    assert listed(lab, "account,fairshare,grptres,grpjobs,maxsubmit") == {"vision|0||4|0", "research|1|||"}


def test_somebody_who_leaves_can_neither_log_in_nor_submit_and_loses_no_data(lab: Lab, key: Path) -> None:
    set_users(lab, alice={"ssh_keys": [public(key)]})
    log_in(lab, key, "echo precious > ~/results")
    assert log_in(lab, key, "cd /tmp && sbatch -o /dev/null --wrap 'sleep 8; touch ~/finished'").returncode == 0
    eventually(lambda: "RUNNING" in lab.ssh("node0", "squeue -h -u alice -o %T"))
    ran = lab.ssh("node0", "sacct -nX -u alice -S now-1hour | wc -l")

    set_users(lab)
    for node in NODES:
        assert log_in(lab, key, "true", node).returncode == 255
        assert "nologin" in lab.ssh(node, "getent passwd alice")
        assert lab.ssh(node, "getent shadow alice | cut -d: -f8").strip() == "1"
    assert "precious" in lab.ssh("node0", "cat /home/alice/results")
    assert "authorized_keys.disabled" in lab.ssh("node0", "ls /home/alice/.ssh")
    said = lab.ssh("node0", "cd /tmp && setpriv --reuid alice --regid alice --clear-groups srun true", exit_code=None)
    assert "violates accounting/QOS policy" in said
    # What already ran may end, and what was counted stays counted.
    eventually(lambda: lab.ssh("node0", "squeue -h -u alice") == "")
    assert "finished" in lab.ssh("node0", "ls /home/alice") + lab.ssh("node1", "ls /home/alice")
    assert lab.ssh("node0", "sacct -nX -u alice -S now-1hour | wc -l") == ran

    set_users(lab, alice={"ssh_keys": [public(key)]})
    assert "precious" in log_in(lab, key, "cat ~/results; srun -n1 true").stdout
    assert log_in(lab, key, "cd /tmp && srun -N2 true").returncode == 0
    assert "added-by-herself" in log_in(lab, key, "cat ~/.ssh/authorized_keys").stdout


def test_an_account_that_was_there_before_is_used_and_never_disabled(lab: Lab, key: Path) -> None:
    lab.ssh("node1", "useradd -m -u 4711 -s /bin/sh bob")
    set_users(lab, bob={"uid": 4711, "ssh_keys": [public(key)]})
    assert "corral: begin" in lab.ssh("node1", "cat ~bob/.ssh/authorized_keys")
    set_users(lab)
    assert "corral" not in lab.ssh("node1", "cat ~bob/.ssh/authorized_keys")
    assert lab.ssh("node1", "getent passwd bob; getent shadow bob | cut -d: -f8").split() == [
        "bob:x:4711:4711::/home/bob:/bin/sh"
    ]
    assert "nologin" in lab.ssh("node0", "getent passwd bob")


def test_an_account_with_another_id_is_an_error_that_names_the_machine_and_the_way_out(lab: Lab) -> None:
    write(lab, users={"bob": {"uid": 4712}})
    said = lab.corral("up", exit_code=1)
    assert "node1" in said
    assert "bob exists here with id 4711" in said
    assert "'uid: 4711'" in said
    set_users(lab)


def test_a_home_that_exists_is_not_moved_when_storage_is_added(lab: Lab, key: Path) -> None:
    set_users(lab, alice={"ssh_keys": [public(key)]})
    write(lab, storage={"shared": {}})
    assert "alice has the home /home/alice, not /shared/home/alice" in lab.corral("plan", "--diff")
    set_users(lab, alice={"ssh_keys": [public(key)]})
    assert log_in(lab, key, "pwd; cat /home/alice/results", "node0").stdout.split() == [
        "/shared/home/alice",
        "precious",
    ]
    assert log_in(lab, key, "pwd", "node1").stdout.strip() == "/shared/home/alice"
