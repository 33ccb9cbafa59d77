"""NVIDIA's driver: packages by distribution, and only where it is wanted and there is a GPU."""

from __future__ import annotations

import dataclasses

import pytest
from tests.unit.deploy.clusters import THREE, cluster_of, facts

from corral.deploy.step import Change
from corral.deploy.steps.driver import steps


def change(os: str, *, pci: int = 1, branch: str = "gpu: {driver: 580}\n") -> Change | None:
    found = dataclasses.replace(facts(gpus={"rtx5090": 1}), os=os, nvidia_gpus_on_pci=pci, nvidia_driver="")
    cluster = cluster_of(THREE + branch, {"node0": found})
    wanted = steps(cluster, cluster.nodes["node0"])
    return wanted[0].diff("missing") if wanted else None


@pytest.mark.parametrize(
    ("os", "packages"),
    [
        ("ubuntu", "nvidia-headless-580-server-open nvidia-utils-580-server"),
        ("debian", "nvidia-open-kernel-dkms nvidia-smi libcuda1"),
    ],
)
def test_each_distribution_gets_its_own_packages_of_that_branch(os: str, packages: str) -> None:
    wanted = change(os)
    assert wanted is not None
    assert wanted.summary == "install NVIDIA's driver 580"
    assert f"install linux-headers-$(uname -r) {packages}" in wanted.script


def test_no_driver_is_installed_unasked_or_without_a_gpu() -> None:
    assert change("ubuntu", branch="") is None
    assert change("ubuntu", pci=0) is None


def test_a_gpu_without_a_driver_is_named_in_a_notice() -> None:
    found = dataclasses.replace(facts(), nvidia_gpus_on_pci=2, nvidia_driver="")
    notices = cluster_of(THREE, {"node0": found}).notices()
    assert any("node0 has 2 NVIDIA GPU(s) but no driver is loaded" in notice for notice in notices)
