"""Facts from what real machines printed (tests/recorded/facts)."""

from __future__ import annotations

from pathlib import Path

import pytest

from corral.deploy.facts import from_json, parse, to_json
from corral.deploy.nvidia import Gpu

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
    assert found.gpus == (Gpu("rtx5090", ("/dev/nvidia0",)),)
    assert found.gpus_are_simulated


@pytest.mark.parametrize(("release", "version"), [("bookworm", (22, 5)), ("trixie", (24, 11)), ("forky", (26, 5))])
def test_the_slurm_version_of_every_supported_release_is_understood(release: str, version: tuple[int, int]) -> None:
    assert parse((RECORDED / f"{release}.txt").read_text()).slurm_version == version


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
