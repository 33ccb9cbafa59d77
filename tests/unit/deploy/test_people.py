"""Accounts of people: what is asked of a machine, for whoever is in the file."""

from __future__ import annotations

from tests.unit.deploy.clusters import THREE, cluster_of, facts

from corral.deploy.step import Step
from corral.deploy.steps import accounting, people

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEIoLN48IxPasOpsTIxzGqA5+IpflU4NYHBOYtDgYNX6 alice's laptop"
USERS = f"users: {{alice: {{uid: 2001, account: vision, ssh_keys: ['{KEY.replace(chr(39), chr(39) * 2)}']}}, bob: }}\n"


def step(name: str, users: str = USERS) -> Step:
    cluster = cluster_of(THREE + users, {f"node{i}": facts() for i in range(3)})
    found = [*people.steps(cluster, cluster.head), *accounting.steps(cluster, cluster.head)]
    return next(step for step in found if step.name == name)


def test_everybody_in_the_file_is_asked_for_by_id_and_home() -> None:
    assert "person alice 2001 /home/alice\n" in step("people").probe()


def test_keys_are_quoted_for_the_shell() -> None:
    assert "alice'\"'\"'s laptop'" in step("homes").probe()


def test_a_file_without_people_still_looks_for_those_who_left() -> None:
    script = step("people", "").probe()
    assert "people=''\n" in script
    assert script.endswith("gone\n")
    assert step("homes", "").probe().endswith("shut\n")


def test_nothing_is_done_where_nothing_is_missing() -> None:
    assert step("people").diff("") is None
    change = step("people").diff("alice is disabled\n")
    assert change is not None
    assert change.detail == "alice is disabled"


def test_slurm_is_asked_about_everybody_who_ever_was_on_the_roll() -> None:
    script = step("slurm accounts").probe()
    assert "people=root,alice,bob\n" in script
    assert people.ROLL in script
    assert "'default|alice|vision'" in script
    assert "'user|alice|vision|1||||'" in script
