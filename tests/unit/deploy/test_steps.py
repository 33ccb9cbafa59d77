"""All steps together, for clusters of every shape."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden.compare import assert_golden
from tests.unit.deploy.clusters import SECRETS, THREE, cluster_of, facts

from corral.deploy.cluster import Cluster
from corral.deploy.plan import Graph
from corral.deploy.resources.service import Service
from corral.deploy.slurmconf import cgroup_conf, gres_conf, slurm_conf
from corral.deploy.steps import steps_for
from corral.deploy.steps.identity import HostsFile

GOLDEN = Path(__file__).parents[2] / "golden"

WORKSTATIONS = cluster_of(
    "three-workstations.yaml", {f"node{i}": facts(gpus={"rtx5090": 1}, memory_gib=128, cpus=32) for i in range(3)}
)
DGX = cluster_of(
    "dgx-rack.yaml",
    {"head": facts(memory_gib=256, cpus=64)}
    | {f"dgx{i}": facts(gpus={"h100": 8}, memory_gib=2048, cpus=224) for i in range(1, 5)},
)
MIXED = cluster_of(
    "name: mixed\nmachines:\n  box: {address: 192.0.2.1}\n  pod: {address: 192.0.2.2, memory: 30GiB, cpus: 6}\n",
    {
        "box": facts(gpus={"a6000": 1, "rtx5090": 2}, slurm=(22, 5), cgroup="v1"),
        "pod": facts(gpus={"rtx5090": 1}, slurm=(22, 5), manager="supervisord", cgroup="none"),
    },
)
POD = cluster_of(
    "name: pod\nmachines:\n  pod: {address: 192.0.2.1}\n", {"pod": facts(gpus={"h100": 1}, manager="supervisord")}
)
CLUSTERS = {"three-workstations": WORKSTATIONS, "dgx-rack": DGX, "mixed": MIXED, "one-pod": POD}


@pytest.mark.parametrize("name", CLUSTERS)
def test_slurms_configuration_is_the_golden_one(name: str) -> None:
    cluster = CLUSTERS[name]
    rendered = {
        "slurm.conf": slurm_conf(cluster),
        "gres.conf": gres_conf(cluster),
        "cgroup.conf": cgroup_conf(cluster),
    }
    for file, content in rendered.items():
        assert_golden(GOLDEN / name / "etc/slurm" / file, content)


@pytest.mark.parametrize(
    ("name", "machine"),
    [
        ("three-workstations", "node0"),
        ("three-workstations", "node1"),
        ("mixed", "box"),
        ("mixed", "pod"),
        ("one-pod", "pod"),
    ],
)
def test_unit_files_are_the_golden_ones(name: str, machine: str) -> None:
    """What tells a service manager what to run: systemd of a new and of an old release, supervisord; and NFS."""
    for path, content in unit_files(CLUSTERS[name], machine).items():
        assert_golden(GOLDEN / name / path, content)


def unit_files(cluster: Cluster, machine: str) -> dict[str, bytes]:
    """`machine/path` → content."""
    return {
        f"{machine}{file.path}": file.content
        for step in steps_for(cluster, cluster.nodes[machine])
        for file in getattr(step, "files", ())
        if file.path.startswith(("/etc/systemd/", "/etc/supervisor/", "/etc/exports.d/", "/etc/nfs.conf.d/"))
    }


@pytest.mark.parametrize("cluster", CLUSTERS.values(), ids=CLUSTERS)
def test_every_dependency_names_a_step_that_some_machine_has(cluster: Cluster) -> None:
    names = {
        step.name for shape in CLUSTERS.values() for node in shape.nodes.values() for step in steps_for(shape, node)
    }
    for node in cluster.nodes.values():
        for step in steps_for(cluster, node):
            assert {ref.rpartition("/")[2] for ref in step.after} <= names


@pytest.mark.parametrize("cluster", CLUSTERS.values(), ids=CLUSTERS)
def test_the_daemons_start_in_slurms_own_order(cluster: Cluster) -> None:
    graph = Graph(cluster.head.name, {name: steps_for(cluster, node) for name, node in cluster.nodes.items()})
    place = {key: index for index, key in enumerate(graph.order)}
    head = cluster.head.name
    assert place[head, "mariadb"] < place[head, "slurmdbd"] < place[head, "slurmctld"] < place[head, "slurmrestd"]
    for node in cluster.compute_nodes:
        assert place[head, "slurmctld"] < place[node.name, "slurmd"]
        assert place[node.name, "munge"] < place[node.name, "slurmd"]


def test_only_the_head_runs_controllers_and_only_compute_nodes_run_slurmd() -> None:
    def services(name: str) -> set[str]:
        return {step.name for step in steps_for(DGX, DGX.nodes[name]) if isinstance(step, Service)}

    assert services("head") == {
        "munge",
        "mariadb",
        "slurmdbd",
        "slurmctld",
        "slurmrestd",
        "nfs-server",
        "corral-keeper",
    }
    assert services("dgx1") == {"munge", "slurmd"}


@pytest.mark.parametrize("cluster", CLUSTERS.values(), ids=CLUSTERS)
def test_no_secret_shows_in_a_plan(cluster: Cluster) -> None:
    for node in cluster.nodes.values():
        for step in steps_for(cluster, node):
            change = step.diff("absent\n\n" * 6) or step.diff("something is missing")
            shown = step.probe() + repr(step) + repr(change) + (change.script + change.detail if change else "")
            for secret in (SECRETS.munge_key, SECRETS.jwt_key):
                assert secret.decode() not in shown, f"{node.name}: {step.name}"
    assert "-secret" not in repr(cluster)


def test_a_machine_without_cgroup_controllers_is_named_in_a_notice() -> None:
    assert MIXED.confinement == "none"
    assert any("NOT confined" in notice and "pod" in notice for notice in MIXED.notices())


def test_the_file_wins_over_what_was_found() -> None:
    pod = MIXED.nodes["pod"]
    assert (pod.cpus, pod.memory_mib) == (6, 30 * 1024)


def test_a_cluster_files_own_slurm_conf_lines_replace_ours() -> None:
    text = THREE + "slurm: {conf: {SlurmdTimeout: 120, Epilog: /opt/epilog.sh}}\n"
    conf = slurm_conf(cluster_of(text, {f"node{i}": facts() for i in range(3)})).decode()
    assert "SlurmdTimeout=120\n" in conf
    assert conf.count("SlurmdTimeout=") == 1
    assert "Epilog=/opt/epilog.sh\n" in conf


def test_daemons_listen_on_the_clusters_addresses_wherever_the_hosts_file_can_name_them() -> None:
    def parameters(text: str) -> bool:
        conf = slurm_conf(cluster_of(text, {f"node{i}": facts() for i in range(3)})).decode()
        return "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny\n" in conf

    assert parameters(THREE)
    assert not parameters(THREE.replace("192.0.2.12", "node2.example.org"))


def test_service_accounts_come_before_the_packages_that_would_make_them_with_other_ids() -> None:
    graph = Graph("node0", {"node0": steps_for(WORKSTATIONS, WORKSTATIONS.nodes["node0"])})
    place = {name: index for index, (_, name) in enumerate(graph.order)}
    assert place["service accounts"] < place["packages"] < place["munge files"]


def test_a_machine_never_reached_is_left_out_and_the_rest_still_makes_a_cluster() -> None:
    conf = slurm_conf(cluster_of(THREE, {"node0": facts(), "node2": facts()})).decode()
    assert "NodeName=node1" not in conf
    assert "Nodes=node0,node2 " in conf


def test_memory_is_declared_lower_than_found_and_does_not_follow_small_changes() -> None:
    def declared(kib: int) -> int:
        found = facts()
        object.__setattr__(found, "memory_bytes", kib * 1024)
        return cluster_of(THREE, {"node0": found}).nodes["node0"].memory_mib

    assert declared(65_000_000) < 65_000_000 // 1024
    assert declared(65_000_000) == declared(65_020_000)


HOSTS = HostsFile((("node0", "192.0.2.10"), ("node1", "192.0.2.11")))


def test_the_hosts_file_keeps_what_others_wrote_and_converges() -> None:
    before = "127.0.0.1\tlocalhost\n127.0.1.1\tnode0.lan node0\n192.0.2.99\tprinter\n"
    after = HOSTS.wanted(before)
    assert "printer" in after
    assert "localhost" in after
    assert "127.0.1.1" not in after
    assert "192.0.2.10\tnode0\n" in after
    assert HOSTS.wanted(after) == after
    assert HOSTS.diff(after) is None


def test_a_machine_that_left_the_cluster_leaves_the_hosts_file() -> None:
    after = HostsFile((("node0", "192.0.2.10"),)).wanted(HOSTS.wanted("127.0.0.1 localhost\n"))
    assert "node1" not in after
