from __future__ import annotations

import subprocess
from pathlib import Path

import asyncssh
import pytest

from corral.hosts.known_hosts import HostKey, KnownHosts
from corral.hosts.machine import Machine

OLD, NEW = (asyncssh.generate_private_key("ssh-ed25519").convert_to_public() for _ in range(2))
MACHINE = Machine("node0", "192.0.2.10")
FORWARDED = Machine("node1", "192.0.2.10", port=2201)


@pytest.fixture
def pinned(tmp_path: Path) -> KnownHosts:
    return KnownHosts(tmp_path / "state" / "known_hosts")


def test_a_machine_nobody_met_has_no_key(pinned: KnownHosts) -> None:
    assert pinned.keys(MACHINE) == []
    assert pinned.lines(MACHINE) == []


def test_a_pinned_key_is_the_machines_only_one_and_only_the_owner_may_read_the_file(pinned: KnownHosts) -> None:
    for key in (OLD, NEW):
        pinned.pin(MACHINE, HostKey.of(key))
    assert pinned.keys(MACHINE) == [NEW]
    assert pinned.path.stat().st_mode & 0o777 == 0o600
    assert len(list(pinned.path.parent.iterdir())) == 1


def test_two_ports_of_one_address_are_two_machines(pinned: KnownHosts) -> None:
    pinned.pin(MACHINE, HostKey.of(OLD))
    assert pinned.keys(FORWARDED) == []
    pinned.pin(FORWARDED, HostKey.of(NEW))
    assert (pinned.keys(MACHINE), pinned.keys(FORWARDED)) == ([OLD], [NEW])
    assert (pinned.lines(MACHINE), pinned.lines(FORWARDED)) == ([1], [2])


def test_hashed_lines_comments_and_nonsense_are_read_as_ssh_does(pinned: KnownHosts) -> None:
    pinned.pin(FORWARDED, HostKey.of(OLD))
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", pinned.path], check=True, stderr=subprocess.DEVNULL)
    pinned.path.write_text(f"# a comment\nnonsense\n@revoked * ssh-ed25519 AAAA\n\n{pinned.path.read_text()}")
    assert pinned.keys(FORWARDED) == [OLD]
    assert pinned.lines(FORWARDED) == [5]


def test_fingerprints_are_the_ones_that_ssh_keygen_shows(pinned: KnownHosts) -> None:
    pinned.pin(MACHINE, HostKey.of(OLD))
    shown = subprocess.run(["ssh-keygen", "-lf", pinned.path], check=True, capture_output=True, text=True).stdout
    assert HostKey.of(OLD).fingerprint in shown
    assert HostKey.of(OLD).kind == "ssh-ed25519"
    assert HostKey.of_text(f"{HostKey.of(OLD).text} a comment") == HostKey.of(OLD)
