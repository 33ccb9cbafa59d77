"""Machines on this computer: they boot, they break as told, and nothing of them stays behind."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

import corral
from corral.errors import HostError, InputError, ProviderError, Unreachable
from corral.hosts.known_hosts import KnownHosts
from corral.hosts.login import Login
from corral.hosts.machine import Machine
from corral.hosts.netns import connect_inside
from corral.providers.local import LocalMachines
from corral.spec.model import LocalSpec

_SOURCES = Path(corral.__file__).parent.parent


def say_nothing(_: str) -> None:
    return None


def until(condition: Callable[[], object], what: str, timeout_s: float = 30) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"waited {timeout_s} s until {what}"
        time.sleep(0.05)


def sh(machine: Machine, script: str, timeout_s: float = 30) -> str:
    async def there() -> str:
        # Their keys are known from the start, so nothing is pinned.
        host = await Login(KnownHosts(Path(os.devnull))).connect(machine)
        try:
            done = await host.run(script, timeout_s=timeout_s)
        finally:
            await host.close()
        assert done.ok, done.last_words()
        return done.stdout.strip()

    return asyncio.run(there())


def banner(machine: Machine, timeout_s: float = 1) -> bytes:
    """What sshd says first, or nothing when it says nothing in time."""
    assert machine.network_namespace is not None
    try:
        with connect_inside(machine.network_namespace, machine.address, machine.port, timeout_s) as connection:
            connection.settimeout(timeout_s)
            return connection.recv(4)
    except OSError:
        return b""


def boot_id(machine: Machine) -> str:
    """Another one at every boot, and none while the machine cannot be asked."""
    try:
        return sh(machine, "cat /proc/sys/kernel/random/boot_id")
    except (HostError, AssertionError):
        return ""


def named(cluster: LocalMachines) -> dict[str, Machine]:
    return {machine.name: machine for machine in cluster.machines()}


@pytest.fixture
def node0(two_machines: LocalMachines) -> Machine:
    return named(two_machines)["node0"]


@pytest.fixture
def node1(two_machines: LocalMachines) -> Machine:
    return named(two_machines)["node1"]


@pytest.fixture
def fresh(tmp_path: Path, image_cache: Path) -> Iterator[LocalMachines]:
    """A cluster that is not up yet and is gone after the test."""
    cluster = LocalMachines(tmp_path / "local", image_cache, f"test-fresh-{os.getpid()}", LocalSpec())
    yield cluster
    asyncio.run(cluster.down())


class TestWhatMachinesAre:
    def test_each_has_its_own_name_address_and_system(self, node0: Machine, node1: Machine) -> None:
        assert sh(node0, "hostname; hostname -I; cat /proc/1/comm").split() == ["node0", "10.77.0.10", "systemd"]
        assert sh(node1, "hostname; hostname -I; cat /proc/1/comm").split() == ["node1", "10.77.0.11", "systemd"]

    def test_no_unit_of_the_system_failed(self, node0: Machine) -> None:
        assert sh(node0, "systemctl is-system-running --wait; systemctl --failed --no-legend") == "running"

    def test_nothing_of_slurm_runs_or_is_configured(self, node0: Machine) -> None:
        units = "slurmctld slurmd slurmdbd slurmrestd munge mariadb"
        assert set(sh(node0, f"systemctl is-enabled {units} || :").split()) == {"disabled"}
        assert sh(node0, "ls /etc/munge/munge.key /etc/slurm/slurm.conf 2>/dev/null || :") == ""

    def test_another_host_key_than_the_pinned_one_is_refused(self, node0: Machine, node1: Machine) -> None:
        with pytest.raises(Unreachable, match="has CHANGED"):
            sh(replace(node0, host_key=node1.host_key), "true")

    def test_simulated_gpus_are_device_nodes_with_a_marker_that_names_them(self, node0: Machine) -> None:
        assert sh(node0, "stat -c '%F %t:%T %a' /dev/nvidia*") == (
            "character special file c3:0 666\ncharacter special file c3:1 666"
        )
        assert sh(node0, "cat /etc/corral/simulated-gpus") == "rtx5090 /dev/nvidia0\nrtx5090 /dev/nvidia1"

    def test_all_see_one_shared_directory(self, node0: Machine, node1: Machine) -> None:
        sh(node0, "su -s /bin/sh nobody -c 'echo hello > /shared/from-node0'")
        assert sh(node1, "cat /shared/from-node0") == "hello"

    def test_corrals_own_python_runs_there_for_everybody_and_cannot_be_changed(self, node0: Machine) -> None:
        program = "import corral, ctypes, ssl; print(corral.__file__)"
        found = sh(node0, f"su -s /bin/sh nobody -c 'PYTHONPATH={_SOURCES} {sys.executable} -c \"{program}\"'")
        assert found == corral.__file__
        with pytest.raises(AssertionError, match="Read-only"):
            sh(node0, f"touch {_SOURCES}/corral/changed")

    def test_a_boot_time_of_its_own_lets_slurm_notice_reboots(self, node0: Machine) -> None:
        with Path("/proc/uptime").open() as outside:
            assert float(sh(node0, "cut -d' ' -f1 /proc/uptime")) < float(outside.read().split()[0])

    def test_going_up_again_keeps_what_runs(self, two_machines: LocalMachines) -> None:
        before = {guest.name: guest.boots for guest in asyncio.run(two_machines.status())}
        asyncio.run(two_machines.up(["node0", "node1"], say_nothing))
        assert {guest.name: guest.boots for guest in asyncio.run(two_machines.status())} == before


class TestFaults:
    def test_a_reboot_from_inside_comes_back(self, two_machines: LocalMachines, node0: Machine) -> None:
        before = boot_id(node0)
        sh(node0, "systemd-run -q --on-active=0.1 systemctl reboot")
        until(lambda: boot_id(node0) not in ("", before), "node0 is back")
        assert asyncio.run(two_machines.status())[0].boots >= 2

    def test_a_pulled_cord_ends_all_at_once_and_the_disk_stays(
        self, two_machines: LocalMachines, node0: Machine
    ) -> None:
        sh(node0, "echo kept > /var/tmp/kept; sync")
        began = time.monotonic()
        asyncio.run(two_machines.power_off("node0"))
        assert time.monotonic() - began < 2
        assert banner(node0) == b""
        assert not asyncio.run(two_machines.status())[0].powered
        asyncio.run(two_machines.power_on("node0"))
        until(lambda: banner(node0), "node0 is back")
        assert sh(node0, "cat /var/tmp/kept") == "kept"

    def test_a_frozen_machine_hangs_and_goes_on_when_thawed(self, two_machines: LocalMachines, node0: Machine) -> None:
        marker = "/run/corral-test-tick"
        sh(node0, f"systemd-run -q --unit=ticking sh -c 'while :; do date +%s%N > {marker}; sleep 0.02; done'")
        asyncio.run(two_machines.freeze("node0"))
        assert asyncio.run(two_machines.status())[0].frozen
        assert banner(node0) == b""
        asyncio.run(two_machines.thaw("node0"))
        until(lambda: banner(node0), "node0 goes on")
        assert (
            sh(node0, f"a=$(cat {marker}); sleep 0.3; [ $a != $(cat {marker}) ] && systemctl stop ticking && echo on")
            == "on"
        )

    def test_a_pulled_cable_stays_out_across_a_reboot(self, two_machines: LocalMachines, node0: Machine) -> None:
        asyncio.run(two_machines.unplug("node0"))
        asyncio.run(two_machines.power_off("node0"))
        asyncio.run(two_machines.power_on("node0"))
        until(lambda: asyncio.run(two_machines.status())[0].powered, "node0 has power")
        assert banner(node0, timeout_s=3) == b""
        asyncio.run(two_machines.plug("node0"))
        until(lambda: banner(node0), "node0 is reachable")

    def test_going_up_mends_every_fault(self, two_machines: LocalMachines, node0: Machine, node1: Machine) -> None:
        asyncio.run(two_machines.freeze("node0"))
        asyncio.run(two_machines.unplug("node0"))
        asyncio.run(two_machines.power_off("node1"))
        asyncio.run(two_machines.up(["node0", "node1"], say_nothing))
        assert banner(node0)
        assert banner(node1)

    def test_an_unknown_machine_is_an_error_that_lists_the_known(self, two_machines: LocalMachines) -> None:
        with pytest.raises(ProviderError, match="node7; there is: node0, node1"):
            asyncio.run(two_machines.freeze("node7"))


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
        if subprocess.run([python, "-c", _UP_BY_HAND], env=by_hand(tmp_path, image_cache), check=False).returncode:
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


_UP_BY_HAND = """
import asyncio, os, pathlib
from corral.providers.local import LocalMachines
from corral.spec.model import LocalSpec
directory, cache = pathlib.Path(os.environ["DIRECTORY"]), pathlib.Path(os.environ["CACHE"])
cluster = LocalMachines(directory, cache, os.environ["CLUSTER"], LocalSpec())
asyncio.run(cluster.up(["node0", "node1"], lambda line: None))
"""


def by_hand_name() -> str:
    return f"test-hand-{os.getpid()}"


def by_hand(tmp_path: Path, image_cache: Path) -> dict[str, str]:
    """The environment in which `_UP_BY_HAND` brings a cluster up in a process of its own."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(_SOURCES), *(entry for entry in sys.path if "site-packages" in entry)]),
        "DIRECTORY": str(tmp_path / "local"),
        "CACHE": str(image_cache),
        "CLUSTER": by_hand_name(),
    }


class Traces:
    """Everything on this computer that belongs to one cluster."""

    def __init__(self, cluster: str, directory: Path) -> None:
        self._cluster = f"corral-{cluster}"
        self._directory = str(directory)
        self._links = self._own_links()
        self._namespaces: set[str] = set()

    def remember_namespaces(self) -> None:
        """Call while the cluster is up: its namespaces must be found nowhere later."""
        here = self._targets("/proc/self/ns")
        self._namespaces |= {name for pid in self._pids() for name in self._targets(f"/proc/{pid}/ns")} - here

    def assert_only(self, *expected: str) -> None:
        """What the kernel ends asynchronously gets a moment to end."""
        deadline = time.monotonic() + 5
        while (found := self.found()) != list(expected) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert found == list(expected)

    def found(self) -> list[str]:
        pids = [f"process {pid}" for pid in self._pids()]
        mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if self._directory in line]
        hierarchies = (Path("/sys/fs/cgroup"), *Path("/sys/fs/cgroup").iterdir())
        cgroups = [str(path / self._cluster) for path in hierarchies if (path / self._cluster).exists()]
        # Other clusters may run here, and the kernel gives the number of a namespace that ended to the next one.
        others = [pid for pid in self._all_pids() if "/corral-" not in self._read(f"/proc/{pid}/cgroup")]
        held = {name for pid in others for kind in ("ns", "fd") for name in self._targets(f"/proc/{pid}/{kind}")}
        namespaces = sorted(self._namespaces & held)
        links = sorted(self._own_links() ^ self._links)
        directory = [self._directory] if Path(self._directory).exists() else []
        return [*pids, *mounts, *cgroups, *namespaces, *links, *directory]

    def _pids(self) -> list[str]:
        return [pid for pid in self._all_pids() if self._belongs(pid)]

    def _belongs(self, pid: str) -> bool:
        mentions = self._directory in self._read(f"/proc/{pid}/cmdline")
        return int(pid) != os.getpid() and (mentions or self._cluster in self._read(f"/proc/{pid}/cgroup"))

    @staticmethod
    def _read(path: str) -> str:
        try:
            return Path(path).read_text(errors="replace")
        except OSError:
            return ""

    @staticmethod
    def _targets(folder: str) -> set[str]:
        found: set[str] = set()
        # Processes and their files come and go while we look.
        with suppress(OSError):
            for entry in Path(folder).iterdir():
                found.add(str(entry.readlink()))
        return found

    @staticmethod
    def _all_pids() -> list[str]:
        return [entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit()]

    @staticmethod
    def _own_links() -> set[str]:
        done = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True)
        return {line.split(":")[1].strip() for line in done.stdout.splitlines()}


class TestNothingStaysBehind:
    @pytest.fixture
    def cluster(self, tmp_path: Path, image_cache: Path) -> Iterator[LocalMachines]:
        cluster = LocalMachines(tmp_path / "local", image_cache, by_hand_name(), LocalSpec())
        yield cluster
        asyncio.run(cluster.down())

    @pytest.fixture
    def traces(self, tmp_path: Path) -> Traces:
        return Traces(by_hand_name(), tmp_path / "local")

    def test_down_leaves_nothing_and_may_be_repeated(self, cluster: LocalMachines, traces: Traces) -> None:
        asyncio.run(cluster.up(["node0", "node1"], say_nothing))
        asyncio.run(cluster.power_off("node1"))
        asyncio.run(cluster.freeze("node0"))
        traces.remember_namespaces()
        assert traces.found()
        asyncio.run(cluster.down())
        traces.assert_only()
        asyncio.run(cluster.down())
        assert cluster.machines() == []

    @pytest.mark.parametrize("seed", range(6))
    def test_an_operator_killed_on_the_way_up_leaves_what_the_next_one_continues_or_removes(
        self, seed: int, cluster: LocalMachines, traces: Traces, tmp_path: Path, image_cache: Path
    ) -> None:
        after_s = random.Random(seed).uniform(0.2, 1.8)
        operator = subprocess.Popen([sys.executable, "-c", _UP_BY_HAND], env=by_hand(tmp_path, image_cache))
        try:
            operator.wait(after_s)
        except subprocess.TimeoutExpired:
            operator.kill()
            operator.wait()
        traces.remember_namespaces()
        if seed % 2:
            machines = asyncio.run(cluster.up(["node0", "node1"], say_nothing))
            assert [sh(machine, "hostname") for machine in machines] == ["node0", "node1"]
            traces.remember_namespaces()
        asyncio.run(cluster.down())
        traces.assert_only()

    def test_a_killed_supervisor_takes_all_along_and_a_new_one_continues_on_the_same_disks(
        self, cluster: LocalMachines, traces: Traces
    ) -> None:
        machines = asyncio.run(cluster.up(["node0", "node1"], say_nothing))
        sh(machines[0], "echo kept > /var/tmp/kept; sync")
        traces.remember_namespaces()
        init = int(str(machines[0].network_namespace).split("/")[2])
        python = int(Path(f"/proc/{init}/task/{init}/children").read_text().split()[0])
        os.kill(python, signal.SIGKILL)
        until(lambda: cluster.machines() == [], "the cluster is known to be down")
        machines = asyncio.run(cluster.up(["node0", "node1"], say_nothing))
        assert sh(machines[0], "cat /var/tmp/kept") == "kept"
        asyncio.run(cluster.down())
        traces.assert_only()

    def test_a_killed_image_build_leaves_no_process_and_no_mount(self, tmp_path: Path, traces: Traces) -> None:
        environment = by_hand(tmp_path, tmp_path / "local")
        program = _UP_BY_HAND.replace("lambda line: None", "lambda line: print(line, flush=True)")
        builder = subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)
        assert builder.stdout is not None
        while "apt-get update" not in builder.stdout.readline():
            assert builder.poll() is None
        traces.remember_namespaces()
        builder.kill()
        builder.wait()
        traces.assert_only(str(tmp_path / "local"))
