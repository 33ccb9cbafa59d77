"""Whose jobs they are, and from where."""

from __future__ import annotations

import asyncio
import getpass
import json
import os
from pathlib import Path

import pytest
from tests.unit.jobs.bench import ME

from corral.errors import InputError, SlurmError
from corral.hosts.shell import LocalShell
from corral.jobs.desk import desk_at
from corral.jobs.site import parse_site
from corral.spec.load import parse_cluster
from corral.spec.model import ClusterSpec
from corral.workflows import desk as workflow

SITE = {"cluster": "lab", "head": "node0", "rest": "10.77.0.10:6820", "jobs": "/shared/jobs"}


def cluster(*users: str) -> ClusterSpec:
    people = f"users: {{{', '.join(f'{name}: {{}}' for name in users)}}}\n" if users else ""
    return parse_cluster(f"name: lab\nmachines:\n  node0: {{address: 192.0.2.1}}\n{people}", "cluster.yaml")


@pytest.mark.parametrize(
    ("users", "asked_for", "logs_in_as", "here", "person"),
    [
        (("ada", "bob"), "bob", "ada", "ada", "bob"),
        (("ada", "bob"), None, "ada", "bob", "ada"),
        (("ada", "bob"), None, "root", "bob", "bob"),
        (("ada",), None, "root", "me", "ada"),
        ((), "ubuntu", "ubuntu", "me", "ubuntu"),
    ],
)
def test_a_person_is_whom_was_asked_for_or_who_logs_in_or_has_the_same_name_or_is_the_only_one(
    monkeypatch: pytest.MonkeyPatch,
    users: tuple[str, ...],
    asked_for: str | None,
    logs_in_as: str,
    here: str,
    person: str,
) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: here)
    assert workflow._person(cluster(*users), asked_for, logs_in_as) == person


@pytest.mark.parametrize(
    ("users", "asked_for", "message"),
    [
        (("ada", "bob"), "eve", "lab has no user 'eve'; its users: ada, bob"),
        ((), "eve", "lab has no user 'eve'; its users: none"),
        ((), None, "lab has no users, and jobs are somebody's. Try: users: in its file, then corral up"),
        (("ada", "bob"), None, "whose jobs? Choose with --user or $CORRAL_USER: ada, bob"),
    ],
)
def test_without_one_person_to_choose_the_choice_is_explained(
    monkeypatch: pytest.MonkeyPatch, users: tuple[str, ...], asked_for: str | None, message: str
) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "me")
    with pytest.raises(InputError) as refused:
        workflow._person(cluster(*users), asked_for, "root")
    assert str(refused.value) == message


def test_people_log_in_to_a_login_machine_or_else_to_the_head() -> None:
    assert workflow._login_machine(cluster()) == "node0"
    machines = "  a: {address: 192.0.2.1, roles: [head, compute]}\n  b: {address: 192.0.2.2, roles: [login]}\n"
    assert workflow._login_machine(parse_cluster(f"name: lab\nmachines:\n{machines}", "cluster.yaml")) == "b"


def test_on_a_machine_of_the_cluster_there_is_nothing_to_connect_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CORRAL_USER", raising=False)
    (tmp_path / "site.json").write_text(json.dumps(SITE))
    for module in ("corral.jobs.desk", "corral.workflows.desk"):
        monkeypatch.setattr(f"{module}.SITE_FILE", str(tmp_path / "site.json"))

    async def opened() -> tuple[str, str]:
        async with workflow.open_desk() as desk:
            return desk.user, desk.home.path

    assert asyncio.run(opened()) == (ME, f"/shared/jobs/{ME}")


@pytest.mark.parametrize(("uid", "fine"), [(0, True), (1000, False)])
def test_only_root_may_act_for_somebody_else(monkeypatch: pytest.MonkeyPatch, uid: int, fine: bool) -> None:
    monkeypatch.setattr(getpass, "getuser", lambda: "ada")
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    assert workflow._here(None) == workflow._here("ada") == "ada"
    if fine:
        assert workflow._here("bob") == "bob"
    else:
        with pytest.raises(InputError, match="only root may start jobs for bob"):
            workflow._here("bob")


def test_a_machine_that_was_not_set_up_says_what_to_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corral.jobs.desk.SITE_FILE", str(tmp_path / "missing.json"))
    with pytest.raises(SlurmError, match=r"no jobs can be started yet.*Try: corral up"):
        asyncio.run(desk_at(LocalShell(ME)))


def test_a_site_tells_where_jobs_live_and_rest_answers() -> None:
    site = parse_site(json.dumps({**SITE, "rest": "[fd00::10]:6820"}))
    assert (site.rest_address, site.rest_port, site.jobs) == ("fd00::10", 6820, "/shared/jobs")


def test_a_cluster_without_a_folder_for_jobs_says_what_to_try() -> None:
    without = {name: value for name, value in SITE.items() if name != "jobs"}
    with pytest.raises(InputError, match=r"storage\.shared in the cluster file"):
        parse_site(json.dumps(without))
