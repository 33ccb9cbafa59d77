"""From SSH to a cluster: first contact, sudo, jump hosts, preflight. The tests build on each other."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.cluster.lab import CORRAL, Lab

from corral.hosts.base import Completed
from corral.hosts.known_hosts import HostKey, KnownHosts
from corral.hosts.login import Login
from corral.hosts.machine import Machine
from corral.providers.local import LocalMachines
from corral.spec.model import LocalSpec

PASSWORD = "correct horse $1"
USERS = f"""
for user in ada bob; do
  useradd -m -s /bin/bash $user && install -d -o $user -m 700 /home/$user/.ssh
  install -o $user -m 600 ~root/.ssh/authorized_keys /home/$user/.ssh/authorized_keys
done
echo 'ada:{PASSWORD}' | chpasswd
printf 'ada ALL=(ALL) ALL\\nbob ALL=(ALL) NOPASSWD: ALL\\n' > /etc/sudoers.d/people
"""
# Keeps what the machine's argument lists have shown, for as long as the file is there.
WATCH = (
    "touch /run/watch; while [ -e /run/watch ]; do cat /proc/[0-9]*/cmdline; sleep 0.02; done > /run/seen 2>/dev/null"
)


@dataclass(frozen=True)
class World:
    """Two machines, and an operator in their network who has a key to them and has never met them."""

    node0: Machine
    node1: Machine
    folder: Path
    cache: Path

    def operator(self, name: str = "lab", **variables: str) -> Lab:
        """An operator with a state folder of that name; the same name is the same operator."""
        home = self.folder / name
        (home / ".ssh").mkdir(parents=True, exist_ok=True)
        return Lab(
            home / "cluster.yaml",
            home / "state",
            self.cache,
            prefix=("nsenter", f"--net={self.node0.network_namespace}"),
            variables={"HOME": str(home), **variables},
        )

    def init(self, lab: Lab, *args: str, exit_code: int = 0) -> str:
        key = str(self.node0.identity_file)
        return lab.corral(
            "init", *args, "--key", key, "--output", str(lab.file), "--name", "reach", exit_code=exit_code
        )


def as_root(machine: Machine, script: str) -> Completed:
    async def there() -> Completed:
        login = Login(KnownHosts(Path(os.devnull)))
        host = await login.connect(machine)
        try:
            return await host.run(script, timeout_s=30)
        finally:
            await host.close()
            await login.close()

    return asyncio.run(there())


def pins(lab: Lab) -> Path:
    return lab.state / "clusters" / "reach" / "known_hosts"


def at_terminal(lab: Lab, answers: dict[str, str], *args: str) -> str:
    """Run a command on a terminal of its own and answer each question once; returns all that was shown."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*lab.prefix, CORRAL, *args], env=lab.environment, stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True,
    ) as process:  # fmt: skip
        os.close(theirs)
        shown, deadline = "", time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                shown += os.read(ours, 4096).decode(errors="replace")
            except OSError:
                break
            for question in [question for question in answers if question in shown]:
                os.write(ours, answers.pop(question).encode() + b"\n")
        os.close(ours)
    assert process.returncode == 0, shown
    return shown


@pytest.fixture
def behind(world: World) -> Iterator[Machine]:
    """node1, to which only node0 has a way."""
    route = ["nsenter", f"--net={world.node0.network_namespace}", "ip", "route"]
    subprocess.run([*route, "add", "unreachable", world.node1.address], check=True)
    yield replace(world.node1, jump=world.node0, network_namespace=None)
    subprocess.run([*route, "del", "unreachable", world.node1.address], check=True)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, image_cache: Path) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("reach")
    local = LocalMachines(folder / "local", image_cache, f"reach-{os.getpid()}", LocalSpec())
    try:
        node0, node1 = asyncio.run(local.up(["node0", "node1"], lambda _: None))
        for machine in (node0, node1):
            assert as_root(machine, USERS).ok
        yield World(node0, node1, folder, image_cache)
    finally:
        asyncio.run(local.down())


def test_without_anybody_to_ask_a_first_contact_stops_and_says_what_to_do(world: World) -> None:
    lab = world.operator("stranger")
    said = world.init(lab, "bob@10.77.0.10", "bob@10.77.0.11", exit_code=1)
    for machine in (world.node0, world.node1):
        assert machine.host_key is not None
        assert HostKey.of_text(machine.host_key).fingerprint in said
    assert said.count("error:") == 2
    assert "--accept-new-host-keys" in said
    assert not lab.file.exists()
    assert not pins(lab).exists()


def test_init_writes_a_file_that_needs_no_edit_and_pins_the_keys(world: World) -> None:
    lab = world.operator("bob")
    said = world.init(lab, "bob@10.77.0.10", "bob@10.77.0.11", "--accept-new-host-keys")
    assert "Debian 13" in said
    assert list(lab.spec.machines) == ["node0", "node1"]
    assert "# node0: Debian 13" in lab.file.read_text()
    assert pins(lab).stat().st_mode & 0o777 == 0o600
    assert pins(lab).read_text().splitlines() == [
        f"{machine.address} {' '.join((machine.host_key or '').split()[:2])}" for machine in (world.node0, world.node1)
    ]
    # From now on nobody is asked, neither by Corral nor by ssh, and sudo works without a password.
    assert lab.json("doctor")["ok"]
    assert lab.ssh("node1", "whoami").strip() == "bob"
    assert "exists already" in world.init(lab, "bob@10.77.0.10", exit_code=2)


def test_keys_that_ssh_knows_already_are_taken_over_and_ssh_config_is_honoured(world: World) -> None:
    lab = world.operator("config")
    home = Path(lab.variables["HOME"])
    (home / ".ssh" / "known_hosts").write_text(f"10.77.0.11 {world.node1.host_key}\n")
    (home / ".ssh" / "config").write_text(
        f"Host gpu1\n  HostName 10.77.0.11\n  User bob\n  IdentityFile {world.node0.identity_file}\n"
    )
    lab.corral("init", "gpu1", "--output", str(lab.file), "--name", "reach")
    machine = lab.spec.machines["node1"]
    assert (machine.address, lab.spec.ssh.user, machine.key) == ("10.77.0.11", "bob", world.node0.identity_file)
    assert "10.77.0.11 ssh-ed25519" in pins(lab).read_text()
    assert lab.json("doctor")["ok"]


def test_a_person_at_a_terminal_is_asked_for_host_key_and_password(world: World) -> None:
    lab = world.operator("person")
    world.init(replace(lab, variables={**lab.variables, "CORRAL_SUDO_PASSWORD": PASSWORD}), "ada@10.77.0.11",
               "--accept-new-host-keys")  # fmt: skip
    pins(lab).unlink()
    shown = at_terminal(lab, {"Is this the right machine?": "y", "for sudo on node1: ": PASSWORD}, "doctor")
    assert world.node1.host_key is not None
    assert HostKey.of_text(world.node1.host_key).fingerprint in re.sub(r"\s", "", shown)
    assert PASSWORD not in shown
    assert "nothing is wrong" in shown


def test_preflight_stops_before_anything_is_changed(world: World) -> None:
    lab = world.operator("bob")
    listen = "use IO::Socket::INET; @_ = IO::Socket::INET->new(LocalPort => 6817, Listen => 1); sleep 600"
    assert as_root(world.node0, f"systemd-run -q --unit=squatter perl -e '{listen}'").ok
    assert as_root(world.node1, "echo ClusterName=hpc > /etc/slurm/slurm.conf").ok
    try:
        said = lab.corral("up", exit_code=1)
        assert "node0: port 6817, which slurmctld needs, is taken by perl" in said
        assert "node1: there is a Slurm of the cluster 'hpc' on it: /etc/slurm/slurm.conf" in said
        assert said.count("error:") == 2
        assert "would stop before changing anything" in lab.corral("plan", exit_code=1)
        for machine in (world.node0, world.node1):
            untouched = "[ ! -e /etc/munge/munge.key ] && [ ! -e /etc/corral/inventory.json ] && ! pidof munged"
            assert as_root(machine, untouched).ok
    finally:
        assert as_root(world.node0, "systemctl stop squatter").ok
        assert as_root(world.node1, "rm /etc/slurm/slurm.conf").ok


def test_a_sudo_password_through_a_jump_host_makes_a_cluster_and_shows_nowhere(world: World, behind: Machine) -> None:
    lab = world.operator("ada")
    hosts = ("ada@10.77.0.10", "ada@10.77.0.11")
    assert "no SSH at ada@10.77.0.11:22" in world.init(lab, *hosts, "--accept-new-host-keys", exit_code=1)
    jump = ("--jump", "bob@10.77.0.10", "--accept-new-host-keys")
    assert "CORRAL_SUDO_PASSWORD" in world.init(lab, *hosts, *jump, exit_code=1)
    wrong = replace(lab, variables={**lab.variables, "CORRAL_SUDO_PASSWORD": "wrong"})
    assert "sudo refused the password of ada" in world.init(wrong, *hosts, *jump, exit_code=1)
    right = replace(lab, variables={**lab.variables, "CORRAL_SUDO_PASSWORD": PASSWORD})
    said = world.init(right, *hosts, *jump)
    assert as_root(behind, f"nohup sh -c '{WATCH}' > /dev/null 2>&1 &").ok
    said += right.corral("up")
    assert right.json("up")["changed"] == 0
    assert as_root(behind, "rm /run/watch").ok
    seen = as_root(behind, "tr '\\0' ' ' < /run/seen; journalctl --no-pager").stdout
    assert "sudo -S" in seen
    assert PASSWORD not in seen + said
    assert sorted(as_root(world.node0, "srun -N2 hostname").stdout.split()) == ["node0", "node1"]
    assert right.ssh("node1", "whoami").strip() == "ada"


def test_a_changed_host_key_stops_everything_until_its_line_is_removed(world: World) -> None:
    lab = world.operator("bob")
    key = "/etc/ssh/ssh_host_ed25519_key"
    as_root(world.node1, f"rm {key}*; ssh-keygen -q -t ed25519 -N '' -f {key}; systemctl restart ssh")
    report = lab.json("doctor", exit_code=1)
    (finding,) = [finding for finding in report["findings"] if finding["where"] == "node1"]
    assert "has CHANGED" in finding["what"]
    assert f"remove line 2 from {pins(lab)}" in finding["what"]
    assert "node1" in lab.corral("doctor", "--accept-new-host-keys", exit_code=1)
    assert "verification failed" in lab.ssh("node1", "true", exit_code=255)
    pins(lab).write_text(pins(lab).read_text().splitlines(keepends=True)[0])
    assert lab.json("doctor", "--accept-new-host-keys")["ok"]
