from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.checks.test_preflight import survey
from tests.unit.deploy.clusters import facts

from corral.deploy.hardware import Hardware, Link
from corral.errors import InputError
from corral.hosts.machine import Machine
from corral.spec.load import parse_cluster
from corral.workflows.draft import draft
from corral.workflows.init import Found, names_for, write_file

HARDWARE = Hardware(
    links=(Link("enp5s0", True, 2500, ("192.0.2.10",)), Link("enp6s0", False, None)),
    disks=(),
    gpu_products=("NVIDIA GeForce RTX 5090",),
    pci_gpus=("2b85",),
    gpu_memory_mib=32607,
    cuda_version="13.0",
    cuda_toolkit="",
    slurm_packages=(),
    slurm_daemons=(),
)
WS1 = Found(
    "ws1",
    "ada@ws1",
    Machine("ws1", "192.0.2.10", "ada", ssh_config_name="192.0.2.10"),
    replace(facts(gpus={"rtx5090": 1}), nvidia_driver="580.95.05"),
    survey(0),
    HARDWARE,
)
WS2 = replace(WS1, name="ws2", machine=replace(WS1.machine, name="ws2", address="192.0.2.11"))


@pytest.mark.parametrize(
    ("hostnames", "names"),
    [
        (["ws1", "ws2"], ["ws1", "ws2"]),
        (["WS_1.example.org", "ws2"], ["ws-1", "ws2"]),
        (["ubuntu", "ubuntu", "big"], ["node0", "node1", "big"]),
        (["localhost", "node0"], ["node1", "node0"]),
        (["", "---", "x" * 70], ["node0", "node1", "x" * 63]),
        (["node1", "ubuntu", "ubuntu"], ["node1", "node2", "node3"]),
    ],
)
def test_machines_are_called_what_they_call_themselves_as_far_as_that_is_a_name(
    hostnames: list[str], names: list[str]
) -> None:
    assert names_for(hostnames) == names


def test_the_file_is_valid_and_says_in_comments_what_was_found() -> None:
    text = draft("lab", [WS1, WS2], key=Path("~/.ssh/lab"), jump=None)
    spec = parse_cluster(text, "cluster.yaml")
    assert list(spec.machines) == ["ws1", "ws2"]
    assert spec.head == "ws1"
    assert (spec.ssh.user, spec.ssh.key, spec.ssh.port) == ("ada", Path("~/.ssh/lab"), None)
    assert "1× NVIDIA GeForce RTX 5090 (driver 580.95.05, CUDA 13.0), enp5s0 2.5 Gbit/s" in text
    assert "16 CPUs, 64 GiB" in text


def test_what_differs_between_machines_stands_with_the_machine() -> None:
    other = replace(WS2, machine=replace(WS2.machine, user="root", port=2222))
    spec = parse_cluster(draft("lab", [WS1, other], key=None, jump="gate"), "cluster.yaml")
    assert spec.ssh.user is None
    assert spec.ssh.jump == "gate"
    assert spec.machines["ws1"].user == "ada"
    assert spec.machines["ws2"].port == 2222


def test_what_ssh_config_said_of_a_name_is_kept_for_its_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text("Host ws1\n  IdentityFile /keys/ws1\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    inner = Machine("jump", "192.0.2.1", "keeper", jump=Machine("jump", "198.51.100.1", "root", 2222))
    alias = replace(WS1, machine=replace(WS1.machine, ssh_config_name="ws1", jump=inner))
    machine = parse_cluster(draft("lab", [alias], key=None, jump=None), "cluster.yaml").machines["ws1"]
    assert machine.key == Path("/keys/ws1")
    assert machine.jump == "root@198.51.100.1:2222,keeper@192.0.2.1:22"


def test_gpus_without_a_driver_are_named_by_their_pci_id() -> None:
    bare = replace(WS1, facts=facts(), hardware=replace(HARDWARE, gpu_products=()))
    assert "1× NVIDIA GPU 10de:2b85 without a driver" in draft("lab", [bare], key=None, jump=None)


def test_a_file_is_never_overwritten_by_accident(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    write_file(path, "first", force=False)
    with pytest.raises(InputError, match="--force"):
        write_file(path, "second", force=False)
    assert path.read_text() == "first"
    write_file(path, "second", force=True)
    assert path.read_text() == "second"
