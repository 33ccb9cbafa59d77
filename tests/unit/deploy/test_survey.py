from __future__ import annotations

from pathlib import Path

import pytest

from corral.deploy import hardware, survey
from corral.deploy.hardware import Disk, Link
from corral.deploy.survey import SlurmConf

RECORDED = Path(__file__).parents[2] / "recorded" / "survey"
MINIMAL = "time=1000.5\nhostname=ws1\nmachine_id=\n"


def recorded(release: str, part: str) -> str:
    return (RECORDED / f"{release}.{part}.txt").read_text()


@pytest.mark.parametrize("release", ["bookworm", "trixie", "forky"])
def test_what_a_real_machine_printed_is_understood(release: str) -> None:
    output = recorded(release, "survey")
    now = float(output.partition("time=")[2].split()[0])
    found = survey.parse(output, now - 0.1, now + 0.1)
    assert found.hostname == "node0"
    assert len(found.machine_id) == 32
    assert found.clock_offset_s == 0
    assert set(found.free_bytes) == {"/", "/var"}
    assert found.addresses == ("10.77.0.10",)
    assert found.mirror == "not asked"


def test_a_cluster_that_runs_shows_its_daemons_and_its_configuration() -> None:
    found = survey.parse(recorded("trixie", "survey"), 0, 0)
    assert found.ports == {6817: "slurmctld", 6818: "slurmd", 6819: "slurmdbd", 6820: "slurmrestd"}
    assert found.slurm_confs == (SlurmConf("/etc/slurm/slurm.conf", True, "reachdev"),)
    assert hardware.parse(recorded("trixie", "hardware")).slurm_daemons == (
        "slurmctld", "slurmd", "slurmdbd", "slurmrestd", "munged",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("asked_at", "answered_at", "offset"),
    [(1000.0, 1001.0, 0.0), (1000.6, 1001.0, -0.1), (990.0, 990.5, 10.0), (2000.0, 2030.0, -999.5)],
)
def test_a_clock_is_off_only_as_far_as_the_round_trip_does_not_explain(
    asked_at: float, answered_at: float, offset: float
) -> None:
    assert survey.parse(MINIMAL, asked_at, answered_at).clock_offset_s == pytest.approx(offset)


def test_foreign_things_are_noticed() -> None:
    found = survey.parse(
        MINIMAL
        + "slurm_conf=others /etc/slurm/slurm.conf hpc\nforeign_package=slurm-smd\n"
        + "port=6817 \nport=6818 python3\nsysctl=user/max_user_namespaces 0\nmirror_uri=http://mirror/x\nmirror=unreachable\n",
        0,
        0,
    )
    assert found.slurm_confs == (SlurmConf("/etc/slurm/slurm.conf", False, "hpc"),)
    assert found.foreign_packages == ("slurm-smd",)
    assert found.ports == {6817: "", 6818: "python3"}
    assert found.sysctls == {"user/max_user_namespaces": "0"}
    assert (found.mirror, found.mirror_uri) == ("unreachable", "http://mirror/x")


@pytest.mark.parametrize("release", ["bookworm", "trixie", "forky"])
def test_the_hardware_of_a_real_machine_is_understood(release: str) -> None:
    found = hardware.parse(recorded(release, "hardware"))
    assert found.links == (Link("host0", True, None, ("10.77.0.10",)),)
    assert found.disks == (Disk("vda", 256 << 30, True),)
    assert any(package.startswith("slurmd ") for package in found.slurm_packages)


def test_links_disks_and_gpus_of_a_server() -> None:
    found = hardware.parse(
        "link=enp5s0|UP|2500|192.0.2.10 \nlink=enp6s0|DOWN|-1|\n"
        "infiniband=mlx5_0|4: ACTIVE|200 Gb/sec (4X HDR)\ndisk=nvme0n1|3907029168|0\n"
        "gpu=NVIDIA H200, 143771\ngpu=NVIDIA H200, 143771\ncuda=13.0\ncuda_toolkit=12.8.1\n"
    )
    assert found.links == (
        Link("enp5s0", True, 2500, ("192.0.2.10",)),
        Link("enp6s0", False, None),
        Link("mlx5_0", True, 200_000, is_infiniband=True),
    )
    assert found.disks == (Disk("nvme0n1", 3907029168 * 512, False),)
    assert found.gpu_products == ("NVIDIA H200", "NVIDIA H200")
    assert (found.gpu_memory_mib, found.cuda_version, found.cuda_toolkit) == (143771, "13.0", "12.8.1")


def test_without_a_driver_the_pci_names_count() -> None:
    found = hardware.parse("pci_name=GB202 [GeForce RTX 5090]\npci_gpu=0x2b85\n")
    assert found.gpu_products == ("GB202 [GeForce RTX 5090]",)
    assert found.pci_gpus == ("2b85",)
