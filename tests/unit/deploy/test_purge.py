"""What a purge removes: nothing of people, nothing that was there before; and what stays without one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.unit.deploy.clusters import THREE, cluster_of, facts

from corral.deploy.purge import purge_script, shared_folder_left_script, unmount_script
from corral.deploy.steps import steps_for
from corral.deploy.steps.database import OTHER_DATABASES
from corral.deploy.storage import storage_of
from corral.hosts.local import LocalHost

CLUSTER = cluster_of(THREE, {f"node{i}": facts() for i in range(3)})
SERVED = "storage: {shared: {server: node0, path: /srv/data, mount: /big/shared}}\n"
OUTSIDE = "storage: {shared: {nfs: 'nas.lan:/export'}}\n"
THERE = "storage: {shared: {mount: /data}}\n"


def script(name: str = "node0") -> str:
    return purge_script(steps_for(CLUSTER, CLUSTER.nodes[name]), ["alice", "bob"])


def test_every_file_that_a_step_wrote_goes() -> None:
    removed = next(line for line in script().splitlines() if line.startswith("rm -f ")).split()
    assert "/etc/slurm/slurm.conf" in removed
    assert "/etc/systemd/system/slurmctld.service.d/corral.conf" in removed
    assert "/etc/hosts" not in removed


def test_no_home_and_no_shared_folder_is_touched() -> None:
    for line in script().splitlines():
        if "rm " in line or "-delete" in line:
            assert not [word for word in line.split() if word.startswith(("/home", "/srv", "/shared", "/root"))]
    assert "the accounts and homes of alice bob" in script()


def test_the_script_is_valid_shell() -> None:
    done = asyncio.run(LocalHost().run(f"sh -n <<'END_OF_SCRIPT'\n{script('node1')}\nEND_OF_SCRIPT"))
    assert done.ok, done.stderr


def test_a_database_server_that_stays_is_asked_as_it_was_set_up_without_tls() -> None:
    calls = [line for line in script().splitlines() if "mariadb" in line and " -e " in line]
    assert calls
    assert all("mariadb --skip-ssl -e" in line for line in calls)


def test_databases_of_others_are_told_from_ours_and_mariadbs_own(tmp_path: Path) -> None:
    look = OTHER_DATABASES.replace("/var/lib/mysql", str(tmp_path))
    for name in ("mysql", "sys", "performance_schema", "slurm_acct_db", "#rocksdb"):
        (tmp_path / name).mkdir()
    assert asyncio.run(LocalHost().run(look)).stdout == ""
    (tmp_path / "shop").mkdir()
    assert asyncio.run(LocalHost().run(look)).stdout == "shop "


def test_shared_folders_are_let_go_of_and_never_emptied() -> None:
    text = THREE + "storage: {shared: {server: node0, path: /srv/data, mount: /shared}}\n"
    cluster = cluster_of(text, {f"node{i}": facts() for i in range(3)})
    steps = steps_for(cluster, cluster.nodes["node1"])
    assert "for unit in shared.mount;" in unmount_script(steps)
    assert "/etc/systemd/system/shared.mount" in purge_script(steps, [])
    assert "/srv/data" not in purge_script(steps_for(cluster, cluster.head), []) + unmount_script(steps)


def left(folder: Path, storage: str, machine: str, *, active: str, exports: str = "/srv/data 10.0.0.1(rw)\n") -> str:
    """What the machine says when these units are active."""
    (folder / "systemctl").write_text(f"#!/bin/sh\n[ \"$*\" = '-q is-active {active}' ]\n")
    (folder / "systemctl").chmod(0o755)
    (folder / "exports").write_text(exports)
    cluster = cluster_of(THREE + storage, {f"node{i}": facts() for i in range(3)})
    view = storage_of(cluster, cluster.nodes[machine])
    assert view is not None
    script = shared_folder_left_script(view).replace("/etc/exports.d/corral.exports", str(folder / "exports"))
    done = asyncio.run(LocalHost().run(f"PATH={folder}:$PATH\n{script}"))
    assert done.ok
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("storage", "machine", "unit", "words"),
    [
        (SERVED, "node0", "nfs-server", "still serves /srv/data"),
        (SERVED, "node1", "big-shared.mount", "still mounts 192.0.2.10:/srv/data on /big/shared"),
        (OUTSIDE, "node0", "shared.mount", "still mounts nas.lan:/export on /shared"),
    ],
)
def test_a_machine_says_what_it_still_does_for_the_shared_folder_while_it_does(
    tmp_path: Path, storage: str, machine: str, unit: str, words: str
) -> None:
    assert left(tmp_path, storage, machine, active=unit) == words
    assert left(tmp_path, storage, machine, active="other.service") == ""


def test_a_server_that_exports_nothing_of_ours_and_a_folder_of_somebody_else_are_not_mentioned(tmp_path: Path) -> None:
    assert left(tmp_path, SERVED, "node0", active="nfs-server", exports="") == ""
    assert left(tmp_path, THERE, "node0", active="data.mount") == ""
