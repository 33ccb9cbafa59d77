"""Facts from what real machines printed (tests/recorded/facts)."""

from __future__ import annotations

from pathlib import Path

import pytest

from corral.deploy.facts import from_json, gpu_type, parse, to_json

RECORDED = Path(__file__).parents[2] / "recorded" / "facts"


def test_a_local_machine_tells_its_release_memory_cores_and_simulated_gpus() -> None:
    found = parse((RECORDED / "trixie.txt").read_text())
    assert found.os == "debian"
    assert found.os_version == "13"
    assert found.service_manager == "systemd"
    assert found.slurm_version == (24, 11)
    assert (found.sockets, found.cores_per_socket, found.threads_per_core, found.cpus) == (1, 2, 1, 2)
    assert found.memory_bytes > 1 << 30
    assert (found.cgroup, found.cgroup_mount) == ("v1", "/cgroup-v1")
    assert [(gpu.type, gpu.device) for gpu in found.gpus] == [("rtx5090", "/dev/nvidia0")]
    assert found.gpus_are_simulated


@pytest.mark.parametrize(("release", "version"), [("bookworm", (22, 5)), ("trixie", (24, 11)), ("forky", (26, 5))])
def test_the_slurm_version_of_every_supported_release_is_understood(release: str, version: tuple[int, int]) -> None:
    assert parse((RECORDED / f"{release}.txt").read_text()).slurm_version == version


def test_real_gpus_are_typed_by_their_product_name() -> None:
    output = (RECORDED / "trixie.txt").read_text().replace("simulated_gpu=rtx5090 /dev/nvidia0", "gpu=0 NVIDIA H200")
    found = parse(output)
    assert [(gpu.type, gpu.device) for gpu in found.gpus] == [("h200", "/dev/nvidia0")]
    assert not found.gpus_are_simulated


def test_threads_of_one_core_are_told_from_cores() -> None:
    output = (RECORDED / "trixie.txt").read_text()
    head = "\n".join(line for line in output.splitlines() if not line.startswith("cpu="))
    cpus = "\n".join(f"cpu={socket},{socket * 4 + core},{cpu}" for cpu, (socket, core) in enumerate(
        [(s, c) for _ in range(2) for s in range(2) for c in range(4)]
    ))  # fmt: skip
    found = parse(f"{head}\n{cpus}\n")
    assert (found.sockets, found.cores_per_socket, found.threads_per_core) == (2, 4, 2)


def test_facts_survive_being_remembered() -> None:
    found = parse((RECORDED / "trixie.txt").read_text())
    assert from_json(to_json(found)) == found


@pytest.mark.parametrize(
    ("product", "kind"),
    [
        ("NVIDIA GeForce RTX 5090", "rtx5090"),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", "rtx4070tisuper"),
        ("NVIDIA GeForce GTX 1080 Ti", "gtx1080ti"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA H200", "h200"),
        ("NVIDIA A100-SXM4-80GB", "a100"),
        ("Tesla V100-SXM2-16GB", "v100"),
        ("NVIDIA RTX A6000", "a6000"),
        ("NVIDIA RTX 6000 Ada Generation", "rtx6000ada"),
        ("NVIDIA L40S", "l40s"),
        ("NVIDIA GB200", "gb200"),
    ],
)
def test_a_product_name_becomes_the_type_that_people_would_type(product: str, kind: str) -> None:
    assert gpu_type(product) == kind
