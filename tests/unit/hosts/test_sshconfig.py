from __future__ import annotations

import getpass
from pathlib import Path

import pytest

from corral.errors import InputError
from corral.hosts.known_hosts import KnownHosts
from corral.hosts.machine import Machine
from corral.hosts.openssh import ssh_command
from corral.hosts.sshconfig import Destination, configured_key, machine_at

CONFIG = """
Host ws1
  HostName 192.0.2.11
  User ada
  Port 2222
  IdentityFile ~/keys/ws1
  ProxyJump gate
Host gate
  HostName 192.0.2.1
  User keeper
Host direct
  ProxyJump none
Host 192.0.2.*
  User everyone
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text(CONFIG)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ws1", Destination("ws1")),
        ("ada@ws1", Destination("ws1", "ada")),
        ("ada@ws1.example.org:2222", Destination("ws1.example.org", "ada", 2222)),
        ("2001:db8::1", Destination("2001:db8::1")),
        ("ada@[2001:db8::1]:2222", Destination("2001:db8::1", "ada", 2222)),
    ],
)
def test_a_destination_is_taken_apart(text: str, expected: Destination) -> None:
    assert Destination.parse(text) == expected


@pytest.mark.parametrize("text", ["", "a b", "ws1:0", "ws1:70000", "ws1:ssh", "@ws1"])
def test_what_is_no_destination_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"write \[user@\]host\[:port\]"):
        Destination.parse(text)


def test_ssh_config_fills_in_what_nobody_said() -> None:
    machine = machine_at("node1", Destination("ws1"))
    assert (machine.address, machine.user, machine.port) == ("192.0.2.11", "ada", 2222)
    assert machine.ssh_config_name == "ws1"
    assert machine.jump is not None
    assert (machine.jump.address, machine.jump.user, machine.jump.port) == ("192.0.2.1", "keeper", 22)
    assert machine.where == "ada@192.0.2.11:2222 through keeper@192.0.2.1:22"


def test_what_is_said_wins_over_ssh_config_and_that_over_the_defaults() -> None:
    said = machine_at("node1", Destination("ws1", "bob", 22), jump="none")
    assert (said.user, said.port, said.jump) == ("bob", 22, None)
    assert machine_at("node1", Destination("192.0.2.99")).user == "everyone"
    assert machine_at("node1", Destination("198.51.100.1")).user == "root"
    assert machine_at("node1", Destination("198.51.100.1"), default_user="me").user == "me"
    assert machine_at("node1", Destination("direct")).jump is None


def test_several_hops_are_a_way_and_a_machine_is_never_reached_through_itself() -> None:
    machine = machine_at("node1", Destination("198.51.100.1"), jump="a@198.51.100.7,198.51.100.8:2222")
    assert machine.jump is not None
    assert machine.jump.jump is not None
    assert machine.jump.jump.where == "a@198.51.100.7:22"
    assert machine.jump.where == f"{getpass.getuser()}@198.51.100.8:2222 through a@198.51.100.7:22"
    assert machine_at("node0", Destination("198.51.100.8"), jump="ada@198.51.100.8:22").jump is None


def test_the_key_that_ssh_config_names_is_found() -> None:
    assert configured_key(Destination("ws1")) == Path("~/keys/ws1")
    assert configured_key(Destination("gate")) is None


def test_a_broken_ssh_config_is_the_users_mistake(home: Path) -> None:
    (home / ".ssh" / "config").write_text("Port many\n")
    with pytest.raises(InputError, match="config cannot be read"):
        machine_at("node1", Destination("ws1"))


def test_ssh_itself_goes_the_same_way_with_the_same_host_keys(tmp_path: Path) -> None:
    pinned = KnownHosts(tmp_path / "state with space" / "known_hosts")
    machine = machine_at("node1", Destination("ws1"), key=Path("/keys/k"))
    argv = ssh_command(machine, pinned, ["uptime"])
    assert argv[-3:] == ["ada@ws1", "--", "uptime"]
    assert argv[argv.index("-p") + 1] == "2222"
    proxy = next(option for option in argv if option.startswith("ProxyCommand="))
    assert proxy.endswith("-W '[%h]:%p' keeper@gate")
    assert proxy.count(str(pinned.path)) == 1
    assert f'UserKnownHostsFile="{pinned.path}" "{tmp_path}/.ssh/known_hosts"' in argv


def test_ssh_to_a_local_machine_ignores_the_users_configuration(tmp_path: Path) -> None:
    machine = Machine("node0", "10.77.0.10", network_namespace=Path("/proc/1/ns/net"))
    argv = ssh_command(machine, KnownHosts(tmp_path / "known_hosts"), [])
    assert argv[:2] == ["nsenter", "--net=/proc/1/ns/net"]
    assert argv[argv.index("-F") + 1] == "none"
    assert argv[-1] == "root@10.77.0.10"
