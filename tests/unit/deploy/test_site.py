"""What a cluster's shape means for people's jobs: where their folders are, and who keeps them."""

from __future__ import annotations

import json

import pytest
from tests.unit.deploy.clusters import THREE, cluster_of, facts

from corral.deploy.cluster import Cluster
from corral.deploy.resources.files import Files
from corral.deploy.steps import keeper as step
from corral.deploy.steps import steps_for
from corral.jobs import keeper

ONE = "name: solo\nmachines:\n  node0: {address: 192.0.2.10}\n"
SHARED = "storage: {shared: {mount: /data}}\n"


def made(text: str) -> Cluster:
    return cluster_of(text, {f"node{i}": facts() for i in range(3 if "node2" in text else 1)})


def site(cluster: Cluster, name: str) -> dict[str, str]:
    steps = {step.name: step for step in steps_for(cluster, cluster.nodes[name])}
    files = steps["site"]
    assert isinstance(files, Files)
    found: dict[str, str] = json.loads(files.files[0].content)
    return found


@pytest.mark.parametrize(
    ("text", "jobs"), [(THREE + SHARED, "/data/jobs"), (ONE, "/var/lib/corral/jobs"), (THREE, None)]
)
def test_jobs_have_folders_where_every_machine_sees_them(text: str, jobs: str | None) -> None:
    cluster = made(text)
    for name in cluster.nodes:
        assert site(cluster, name).get("jobs") == jobs
        names = [step.name for step in steps_for(cluster, cluster.nodes[name])]
        assert ("corral-keeper" in names) == (jobs is not None and name == "node0")
        assert ("jobs folder" in names) == (jobs == "/var/lib/corral/jobs")


def test_every_machine_knows_the_head_and_its_rest_service() -> None:
    assert site(made(THREE), "node2") == {"cluster": "lab", "head": "node0", "rest": "192.0.2.10:6820"}


def test_the_keeper_and_its_service_mean_the_same_sign_of_life() -> None:
    assert str(keeper.HEARTBEAT) == step.HEARTBEAT
