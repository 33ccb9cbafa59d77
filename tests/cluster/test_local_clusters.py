"""Whole clusters on this computer: they have the links, names, releases and Pythons that were asked for."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.cluster.local import UP_BY_HAND, by_hand, by_hand_name, say_nothing, sh, until

from corral.errors import InputError, ProviderError
from corral.hosts.machine import Machine
from corral.providers.local import LocalMachines
from corral.spec.model import LocalSpec

_RECEIVE = """
import socket, time
listener = socket.create_server(("0.0.0.0", 5001))
open("/shared/listening", "w").close()
peer, _ = listener.accept()
peer.recv(1 << 16)
began, received = time.monotonic(), 0
while block := peer.recv(1 << 20):
    received += len(block)
print(received * 8 / (time.monotonic() - began) / 1e6)
"""
_SEND = """
import socket
with socket.create_connection(("10.77.0.11", 5001)) as peer:
    for _ in range({megabytes}):
        peer.sendall(bytes(1 << 20))
"""


def mbit_per_s(machines: Sequence[Machine], shared: Path, megabytes: int) -> float:
    """The rate of one plain TCP transfer from node0 to node1, by Corral's own Python."""
    sender, receiver = machines
    (shared / "listening").unlink(missing_ok=True)
    (shared / "send.py").write_text(_SEND.format(megabytes=megabytes))
    (shared / "receive.py").write_text(_RECEIVE)
    sh(receiver, f"systemd-run -q -p StandardOutput=file:/shared/rate {sys.executable} /shared/receive.py")
    until((shared / "listening").exists, "the receiver listens")
    sh(sender, f"{sys.executable} /shared/send.py")
    until(lambda: (shared / "rate").read_text().endswith("\n"), "the receiver has measured")
    rate = float((shared / "rate").read_text())
    (shared / "rate").unlink()
    return rate


class TestClusters:
    def test_a_link_has_its_rate_and_changes_it_while_the_machines_run(self, tmp_path: Path, image_cache: Path) -> None:
        def cluster(link: str | None) -> LocalMachines:
            spec = LocalSpec(link=link)
            return LocalMachines(tmp_path / "local", image_cache, f"test-link-{os.getpid()}", spec)

        shared = tmp_path / "local/shared"
        try:
            machines = asyncio.run(cluster("100mbit").up(["node0", "node1"], say_nothing))
            assert mbit_per_s(machines, shared, megabytes=15) == pytest.approx(100, rel=0.2)
            asyncio.run(cluster("1gbit").up(["node0", "node1"], say_nothing))
            assert mbit_per_s(machines, shared, megabytes=100) == pytest.approx(1000, rel=0.2)
            asyncio.run(cluster(None).up(["node0", "node1"], say_nothing))
            assert mbit_per_s(machines, shared, megabytes=200) > 1200
        finally:
            asyncio.run(cluster(None).down())

    def test_machines_come_and_go_and_keep_their_addresses(self, fresh: LocalMachines) -> None:
        asyncio.run(fresh.up(["a", "b"], say_nothing))
        machines = asyncio.run(fresh.up(["c", "b"], say_nothing))
        assert [(machine.name, machine.address) for machine in machines] == [("c", "10.77.0.12"), ("b", "10.77.0.11")]
        assert [sh(machine, "hostname") for machine in machines] == ["c", "b"]
        assert [guest.name for guest in asyncio.run(fresh.status())] == ["b", "c"]

    def test_two_clusters_live_side_by_side_with_the_same_addresses(self, fresh: LocalMachines, node0: Machine) -> None:
        other = asyncio.run(fresh.up(["other"], say_nothing))[0]
        assert other.address == node0.address
        assert (sh(other, "hostname"), sh(node0, "hostname")) == ("other", "node0")

    @pytest.mark.usefixtures("two_machines")
    def test_the_same_name_from_another_directory_is_refused(self, tmp_path: Path, image_cache: Path) -> None:
        thief = LocalMachines(tmp_path, image_cache, f"test-two-{os.getpid()}", LocalSpec())
        with pytest.raises(ProviderError, match="already runs, from"):
            asyncio.run(thief.up(["node0"], say_nothing))

    def test_another_release_on_old_disks_is_refused(self, fresh: LocalMachines, tmp_path: Path) -> None:
        asyncio.run(fresh.up(["node0"], say_nothing))
        other = LocalMachines(tmp_path / "local", tmp_path, f"test-fresh-{os.getpid()}", LocalSpec(release="bookworm"))
        with pytest.raises(InputError, match="corral down"):
            asyncio.run(other.up(["node0"], say_nothing))

    def test_a_machine_that_does_not_boot_is_named_with_the_end_of_its_console(self, fresh: LocalMachines) -> None:
        machine = asyncio.run(fresh.up(["broken"], say_nothing))[0]
        sh(machine, "rm /sbin/init /usr/lib/systemd/systemd; sync")
        asyncio.run(fresh.power_off("broken"))
        with pytest.raises(ProviderError, match=r"broken did not boot: (.|\n)*console ends with:\n(.|\n)*init"):
            asyncio.run(fresh.up(["broken"], say_nothing))

    def test_pods_run_sshd_and_no_systemd(self, tmp_path: Path, image_cache: Path) -> None:
        pods = LocalMachines(tmp_path / "local", image_cache, f"test-pods-{os.getpid()}", LocalSpec(), init="none")
        try:
            pod = asyncio.run(pods.up(["pod0"], say_nothing))[0]
            assert sh(pod, "hostname; [ -d /run/systemd/system ] || command -v supervisord") == (
                "pod0\n/usr/bin/supervisord"
            )
            assert sh(pod, "stat -c %F /dev/nvidia0") == "character special file"
        finally:
            asyncio.run(pods.down())

    def test_a_python_of_the_distribution_runs_there_with_the_libraries_it_knows(
        self, tmp_path: Path, image_cache: Path
    ) -> None:
        distribution = Path("/usr/bin/python3")
        if not distribution.exists():
            pytest.skip("this computer has no Python of its distribution")
        environment = tmp_path / "environment"
        subprocess.run([distribution, "-m", "venv", "--without-pip", environment], check=True)
        python = environment / "bin/python"
        if subprocess.run([python, "-c", UP_BY_HAND], env=by_hand(tmp_path, image_cache), check=False).returncode:
            pytest.skip("the distribution's Python cannot use the packages of this one")
        cluster = LocalMachines(tmp_path / "local", image_cache, by_hand_name(), LocalSpec())
        try:
            program = "import sys, ssl, ctypes; print(sys.prefix)"
            machine = cluster.machines()[0]
            assert sh(machine, f"su -s /bin/sh nobody -c '{python} -c \"{program}\"'") == str(environment)
            # The machine's own Python of the same name stays its own.
            own = sh(machine, "/usr/bin/python3 -c 'import sys; print(sys.prefix, *sys.version_info[:2])'")
            assert own == "/usr 3 13"
        finally:
            asyncio.run(cluster.down())
