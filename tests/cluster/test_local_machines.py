"""Machines on this computer: they boot as real ones do, and break as told."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cluster.local import SOURCES, boot_id, say_nothing, sh, until

import corral
from corral.errors import ProviderError, Unreachable
from corral.hosts.machine import Machine
from corral.hosts.netns import connect_inside
from corral.providers.local import LocalMachines


def banner(machine: Machine, timeout_s: float = 1) -> bytes:
    """What sshd says first, or nothing when it says nothing in time."""
    assert machine.network_namespace is not None
    try:
        with connect_inside(machine.network_namespace, machine.address, machine.port, timeout_s) as connection:
            connection.settimeout(timeout_s)
            return connection.recv(4)
    except OSError:
        return b""


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
        found = sh(node0, f"su -s /bin/sh nobody -c 'PYTHONPATH={SOURCES} {sys.executable} -c \"{program}\"'")
        assert found == corral.__file__
        with pytest.raises(AssertionError, match="Read-only"):
            sh(node0, f"touch {SOURCES}/corral/changed")

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
        sh(
            node0,
            "systemd-run -q -p 'ExecStop=/usr/bin/touch /var/tmp/asked' sleep 600; echo kept > /var/tmp/kept; sync",
        )
        asyncio.run(two_machines.power_off("node0"))
        assert banner(node0) == b""
        assert not asyncio.run(two_machines.status())[0].powered
        asyncio.run(two_machines.power_on("node0"))
        until(lambda: banner(node0), "node0 is back")
        assert sh(node0, "cat /var/tmp/kept; ls /var/tmp/asked 2>/dev/null || :") == "kept"

    def test_a_frozen_machine_hangs_and_goes_on_when_thawed(self, two_machines: LocalMachines, node0: Machine) -> None:
        ticks = "/run/corral-test-ticks"
        sh(node0, f"systemd-run -q --unit=ticking sh -c 'while :; do echo tick >> {ticks}; sleep 0.02; done'")
        asyncio.run(two_machines.freeze("node0"))
        assert asyncio.run(two_machines.status())[0].frozen
        assert banner(node0) == b""
        asyncio.run(two_machines.thaw("node0"))
        until(lambda: banner(node0), "node0 answers")
        before = int(sh(node0, f"wc -l < {ticks}"))
        until(lambda: int(sh(node0, f"wc -l < {ticks}")) > before, "what ran on node0 goes on")
        sh(node0, "systemctl stop ticking")

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
