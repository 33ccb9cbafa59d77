"""NFS by the kernel: who may see the folder, and what becomes of jobs when its server goes away."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable

import pytest
from tests.cluster.lab import eventually
from tests.vm.vms import Machines, Vm, works

# Waking up, deploying and booting take minutes on emulated processors.
pytestmark = pytest.mark.timeout(2400)

_BOOT_S = 400
_BACK_S = 400
_LINES = 30


def as_alice(vm: Vm, command: str) -> str:
    return vm.run_as("alice", command)


def test_what_is_written_on_one_machine_is_read_on_the_other_by_its_owner(machines: Machines) -> None:
    client, server = machines["node0"], machines["node1"]
    options = client.ssh("findmnt -no FSTYPE,SOURCE,OPTIONS /shared")
    assert options.split()[:2] == ["nfs4", "10.78.0.11:/srv/shared"]
    assert "vers=4.2" in options
    assert "hard" in options
    as_alice(client, "echo precious > ~/from-client")
    assert as_alice(server, "cat ~/from-client && echo back > ~/from-server") == "precious\n"
    eventually(lambda: as_alice(client, "cat ~/from-server") == "back\n")
    assert server.ssh("stat -c %U /srv/shared/home/alice/from-client").strip() == "alice"
    assert works(machines, "alice")


def test_root_of_a_client_has_no_power_over_the_folder(machines: Machines) -> None:
    client = machines["node0"]
    as_alice(client, "umask 077; echo secret > ~/diary")
    assert "Permission denied" in client.ssh("cat /shared/home/alice/diary", check=False)
    assert "Permission denied" in client.ssh("touch /shared/mine", check=False)
    client.ssh("touch /shared/jobs/mine")
    assert machines["node1"].ssh("stat -c %U /srv/shared/jobs/mine").strip() == "nobody"


def test_a_machine_outside_the_cluster_is_refused(machines: Machines) -> None:
    mount = "timeout 60 mount -t nfs4 -o vers=4.2,retry=0 10.78.0.11:/srv/shared /mnt"
    said = machines["node2"].ssh(mount, timeout_s=90, check=False)
    assert "denied" in said or "No such file" in said, said
    machines["node2"].ssh("! mountpoint -q /mnt")


def test_nfs_listens_on_its_one_port_and_its_old_helpers_on_none(machines: Machines) -> None:
    listening = machines["node1"].ssh("ss -Htuln | awk '{print $5}' | sed 's/.*://' | sort -un").split()
    assert "2049" in listening
    assert set(listening) <= {"22", "2049", "6818"}
    assert "111" not in machines["node0"].ssh("ss -Htuln | awk '{print $5}' | sed 's/.*://' | sort -un").split()


def unplug_for_a_minute(server: Vm) -> None:
    server.plug(False)
    time.sleep(60)
    server.plug(True)
    # The server is a node too, and Slurm asks a node that it gave up only every few minutes.
    eventually(lambda: server.ssh("systemctl restart slurmd; systemctl is-active slurmd", timeout_s=120), within_s=120)


def reboot(server: Vm) -> None:
    server.reboot(_BOOT_S)


@pytest.mark.parametrize("outage", [unplug_for_a_minute, reboot])
def test_a_job_that_writes_waits_for_its_server_and_loses_nothing(
    machines: Machines, outage: Callable[[Vm], None]
) -> None:
    client, server = machines["node0"], machines["node1"]
    count = f"rm -f ~/lines; for i in $(seq {_LINES}); do echo $i >> ~/lines; sleep 1; done"
    job = as_alice(client, f"cd; sbatch --parsable -w node0 -o ~/output --wrap {shlex.quote(count)}").strip()
    eventually(lambda: len(as_alice(server, "cat ~/lines").split()) > 3, within_s=60)

    outage(server)
    assert "RUNNING" in client.ssh(f"squeue -h -j {job} -o %T")

    eventually(lambda: "COMPLETED" in client.ssh(f"sacct -nX -j {job} -o state"), within_s=_BACK_S, every_s=3)
    assert as_alice(server, "cat ~/lines").split() == [str(line + 1) for line in range(_LINES)]
    assert as_alice(server, "cat ~/output") == ""
    eventually(lambda: works(machines, "alice"), within_s=_BACK_S, every_s=3)


def test_a_client_that_boots_without_its_server_starts_slurmd_when_the_server_is_back(machines: Machines) -> None:
    client, server = machines["node0"], machines["node1"]
    as_alice(client, "echo precious > ~/kept")
    server.ssh("systemctl stop nfs-server")
    try:
        client.reboot(_BOOT_S)
        eventually(lambda: client.unit_is_active("munge"), within_s=_BOOT_S, every_s=3)
        until = time.monotonic() + 20
        while time.monotonic() < until:
            assert not client.unit_is_active("slurmd")
            time.sleep(3)
    finally:
        server.ssh("systemctl start nfs-server")
    eventually(lambda: client.unit_is_active("slurmd"), within_s=_BACK_S, every_s=3)
    eventually(lambda: works(machines, "alice"), within_s=_BACK_S, every_s=3)
    assert as_alice(client, "cat ~/kept") == "precious\n"


def test_a_client_that_boots_has_its_mount_and_its_slurmd(machines: Machines) -> None:
    client = machines["node0"]
    client.reboot(_BOOT_S)
    eventually(lambda: client.unit_is_active("slurmd"), within_s=_BACK_S, every_s=3)
    eventually(lambda: works(machines, "alice"), within_s=_BACK_S, every_s=3)
