"""Nothing of a cluster on this computer stays behind, however it ends."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.cluster.local import UP_BY_HAND, by_hand, by_hand_name, say_nothing, sh, until

from corral.providers.local import LocalMachines
from corral.spec.model import LocalSpec


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
        operator = subprocess.Popen([sys.executable, "-c", UP_BY_HAND], env=by_hand(tmp_path, image_cache))
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
        program = UP_BY_HAND.replace("lambda line: None", "lambda line: print(line, flush=True)")
        builder = subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)
        assert builder.stdout is not None
        while "apt-get update" not in builder.stdout.readline():
            assert builder.poll() is None
        traces.remember_namespaces()
        builder.kill()
        builder.wait()
        traces.assert_only(str(tmp_path / "local"))
