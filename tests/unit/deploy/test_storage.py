"""Shared storage from each machine's side; the files themselves are compared in test_steps.py."""

from __future__ import annotations

import pytest
from tests.unit.deploy.clusters import THREE, cluster_of, facts

from corral.deploy.cluster import Cluster
from corral.deploy.plan import Graph
from corral.deploy.steps import packages, people, steps_for, storage
from corral.deploy.storage import storage_of

SERVED = "storage: {shared: {server: node1, path: /srv/data, mount: /mnt/lab-data}}\n"
OUTSIDE = "storage: {shared: {nfs: 'nas.lan:/export'}}\n"
THERE = "storage: {shared: {mount: /data}}\n"


def cluster(section: str, machines: str = THREE) -> Cluster:
    return cluster_of(machines + section, {f"node{i}": facts() for i in range(3)})


def names(shape: Cluster, machine: str) -> set[str]:
    return {step.name for step in storage.steps(shape, shape.nodes[machine])}


def probe(shape: Cluster, machine: str, name: str) -> str:
    return next(step for step in steps_for(shape, shape.nodes[machine]) if step.name == name).probe()


def exports(shape: Cluster, machine: str) -> str:
    step = next(step for step in storage.steps(shape, shape.nodes[machine]) if step.name == "exports")
    (file,) = getattr(step, "files")  # noqa: B009 (a Step does not say that it has any)
    content: bytes = file.content
    return content.decode()


def test_each_machine_gets_what_its_part_needs() -> None:
    client = {"NFS 3 helpers", "shared mount unit", "shared mount", "shared folder"}
    server = client | {"served folder", "exports", "nfs-server files", "nfs-server", "exported"}
    served = cluster(SERVED)
    assert [names(served, f"node{i}") for i in range(3)] == [client, server, client]
    assert names(cluster(OUTSIDE), "node0") == client
    assert names(cluster(THERE), "node0") == {"shared folder"}
    assert names(cluster(""), "node0") == set()


@pytest.mark.parametrize(
    ("section", "machine", "package"),
    [
        (SERVED, "node1", "nfs-kernel-server"),
        (SERVED, "node0", "nfs-common"),
        (OUTSIDE, "node2", "nfs-common"),
        (THERE, "node0", None),
    ],
)
def test_only_who_serves_or_mounts_gets_packages_of_nfs(section: str, machine: str, package: str | None) -> None:
    shape = cluster(section)
    found = {name for name in packages.needed(shape, shape.nodes[machine]) if name.startswith("nfs")}
    assert found == ({package} if package else set())


def test_the_exports_list_the_other_machines_and_nobody_else() -> None:
    lines = exports(cluster(SERVED), "node1").splitlines()[1:]
    options = "(rw,sync,root_squash,no_subtree_check)"
    assert lines == [f"/srv/data 192.0.2.1{i}{options}" for i in (0, 2)]


def test_a_server_without_clients_exports_nothing_rather_than_to_everybody() -> None:
    alone = "name: lab\nmachines: {node0: {address: 192.0.2.10}}\nstorage: {shared: {server: node0, path: /srv/data}}\n"
    assert "/srv/data" not in exports(cluster_of(alone, {"node0": facts()}), "node0")


def test_the_mounts_unit_is_named_as_systemd_wants_it() -> None:
    shape = cluster(SERVED)
    view = storage_of(shape, shape.nodes["node0"])
    assert view is not None
    assert view.unit == r"mnt-lab\x2ddata.mount"
    assert view.source == "192.0.2.11:/srv/data"


def test_a_server_with_an_ipv6_address_is_put_in_brackets() -> None:
    shape = cluster(SERVED, THREE.replace("192.0.2.11", "2001:db8::11"))
    view = storage_of(shape, shape.nodes["node0"])
    assert view is not None
    assert view.source == "[2001:db8::11]:/srv/data"


def test_a_folder_that_is_served_where_it_is_mounted_needs_no_mount_there() -> None:
    shape = cluster("storage: {shared: {server: node0, path: /shared}}\n")
    assert "shared mount" not in names(shape, "node0")
    assert "shared mount" in names(shape, "node1")


def test_slurmd_waits_for_the_folder_and_the_folder_for_its_server() -> None:
    shape = cluster(SERVED)
    graph = Graph("node0", {name: steps_for(shape, node) for name, node in shape.nodes.items()})
    place = {key: index for index, key in enumerate(graph.order)}
    order = [
        ("node1", "nfs-server"),
        ("node1", "exported"),
        ("node2", "shared mount"),
        ("node2", "shared folder"),
        ("node2", "slurmd"),
    ]
    assert sorted(order, key=lambda key: place[key]) == order
    assert place["node1", "shared folder"] < place["node2", "shared folder"]


def test_homes_are_made_where_the_folder_is_kept() -> None:
    shape = cluster(SERVED + "users: {alice: {uid: 2001}}\n")
    assert "person alice 2001 /mnt/lab-data/home/alice\n" in people.steps(shape, shape.nodes["node0"])[0].probe()
    assert "case $1 in /mnt/lab-data/home/*) false;; *) true;; esac" in probe(shape, "node0", "homes")
    assert "case $1 in /mnt/lab-data/home/*) timeout" in probe(shape, "node1", "homes")


def test_a_machine_without_systemd_is_told_that_it_can_neither_serve_nor_mount() -> None:
    found = {"node0": facts(), "node1": facts(manager="supervisord"), "node2": facts(manager="supervisord")}
    shape = cluster_of(THREE + SERVED, found)
    assert names(shape, "node1") == names(shape, "node2") == {"shared mount", "shared folder"}
    mount = next(step for step in storage.steps(shape, shape.nodes["node2"]) if step.name == "shared mount")
    change = mount.diff("it is not mounted\n")
    assert change is not None
    assert "can neither serve nor mount NFS" in change.script


def test_the_owner_of_a_server_outside_is_told_what_to_make_by_the_server_s_own_path() -> None:
    shape = cluster(OUTSIDE)
    step = next(step for step in storage.steps(shape, shape.head) if step.name == "shared folder")
    change = step.diff("/shared/.corral")
    assert change is not None
    assert "in /export, make home, and jobs with mode 1777 and the file .corral with the text lab" in change.script
