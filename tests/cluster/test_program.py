"""Corral itself on the cluster's machines: everybody's command, the head's keeper, and updates that nobody notices."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.lab import Lab, eventually, make_lab

import corral

VERSION = f"corral {corral.__version__}\n"
NODES = ("node0", "node1")


@pytest.fixture(
    scope="module",
    params=["trixie", pytest.param("bookworm", marks=pytest.mark.slow), pytest.param("forky", marks=pytest.mark.slow)],
)
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, image_cache: Path) -> Iterator[Lab]:
    lab = make_lab(
        tmp_path_factory.mktemp(request.param),
        image_cache,
        machines=2,
        name=f"program-{request.param}-{os.getpid()}",
        local={"release": request.param},
        storage={"shared": {"mount": "/shared"}},
        users={"alice": {}},
    )
    with lab.while_up():
        yield lab


def as_alice(lab: Lab, node: str, command: str, exit_code: int | None = 0) -> str:
    return lab.ssh(node, f"cd / && runuser -l alice -c '{command}'", exit_code)


def keeper(lab: Lab) -> int:
    return int(lab.ssh("node0", "systemctl show -p MainPID --value corral-keeper"))


def make_old(lab: Lab, node: str) -> None:
    """Let the machine have another version of Corral, as before an operator's update."""
    lab.ssh(node, "echo 'OLD = 1' >> /opt/corral/lib/corral/__init__.py; echo old > /opt/corral/current/VERSION")


def test_everybody_has_the_command_on_every_machine_by_the_machines_own_python(lab: Lab) -> None:
    for node in NODES:
        assert as_alice(lab, node, "corral version") == VERSION
        assert "python3" in lab.ssh(node, "dpkg -S $(readlink -f /usr/bin/python3)")
        said = as_alice(lab, node, '/usr/bin/python3 -c "import pydantic" 2>&1', exit_code=None)
        assert "No module named" in said
        said = as_alice(lab, node, "corral up 2>&1", exit_code=2)
        assert said.startswith("error: this command belongs on the operator's computer")


def test_jobs_find_corral_and_machines_know_their_cluster(lab: Lab) -> None:
    command = 'PYTHONPATH=/opt/corral/lib srun -w node1 --mem=100 python3 -c "import corral; print(corral.__file__)"'
    assert as_alice(lab, "node0", command).strip() == "/opt/corral/lib/corral/__init__.py"
    for node in NODES:
        site = json.loads(as_alice(lab, node, "cat /etc/corral/site.json"))
        assert site == {"cluster": lab.spec.name, "head": "node0", "rest": "10.77.0.10:6820", "jobs": "/shared/jobs"}


def test_a_second_up_changes_nothing(lab: Lab) -> None:
    before = keeper(lab)
    assert lab.json("up")["changed"] == 0
    assert keeper(lab) == before


def test_a_killed_keeper_is_back_and_a_stopped_one_is_named_and_mended(lab: Lab) -> None:
    before = keeper(lab)
    lab.ssh("node0", f"kill -9 {before}")
    eventually(lambda: keeper(lab) not in (0, before))
    eventually(lambda: lab.json("status", exit_code=None)["ok"])
    lab.ssh("node0", "systemctl stop corral-keeper")
    assert "corral-keeper is inactive" in lab.corral("status", exit_code=1)
    lab.corral("doctor", "--fix")
    assert keeper(lab)


def test_a_keeper_that_hangs_is_started_again(lab: Lab) -> None:
    before = keeper(lab)
    lab.ssh("node0", f"kill -STOP {before}; touch -d '-2 minutes' /run/corral/keeper")
    assert "restart corral-keeper: it does not answer" in lab.corral("plan")
    lab.corral("up")
    assert keeper(lab) not in (0, before)


def test_another_version_is_replaced_and_the_keeper_runs_the_new_one(lab: Lab) -> None:
    for node in NODES:
        make_old(lab, node)
    lab.ssh("node0", "systemctl restart corral-keeper")
    before = keeper(lab)
    assert f"bring Corral {corral.__version__}" in lab.corral("plan")
    lab.corral("up")
    assert keeper(lab) not in (0, before)
    for node in NODES:
        assert lab.ssh(node, "grep -c OLD /opt/corral/lib/corral/__init__.py", exit_code=1).strip() == "0"
    assert lab.json("up")["changed"] == 0


def test_shipping_cut_off_with_its_operator_leaves_a_whole_program_and_the_next_up_heals(lab: Lab) -> None:
    make_old(lab, "node1")
    with lab.start("up", "--json") as process:
        assert process.stdout is not None
        for line in process.stdout:
            event = json.loads(line) if line.startswith("{") else {}
            if (event.get("kind"), event.get("host"), event.get("step")) == ("started", "node1", "program"):
                break
        process.kill()
    assert as_alice(lab, "node1", "corral version") == VERSION
    lab.corral("up")
    assert as_alice(lab, "node1", "corral version") == VERSION
    assert lab.ssh("node1", "find /opt/corral -mindepth 1 -maxdepth 1 -type d | wc -l").strip() == "1"
    assert lab.json("up")["changed"] == 0
