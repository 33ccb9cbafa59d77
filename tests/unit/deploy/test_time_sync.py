"""Time synchronisation, on this machine's real shell with a systemd that the test makes up."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.unit.deploy.clusters import THREE, cluster_of, facts

from corral.deploy.step import Change, Step
from corral.deploy.steps.time_sync import steps
from corral.hosts.local import LocalHost

SYSTEMCTL = """#!/bin/sh
# Knows the units in $UNITS; those in $ACTIVE run and are enabled.
for unit; do :; done
case " $* " in
  *" cat "*) case " $UNITS " in *" $unit "*) exit 0;; esac; exit 1;;
  *" enable "*) echo "enabled $unit"; exit 0;;
esac
case " $ACTIVE " in *" $unit "*) exit 0;; esac; exit 1
"""


def step() -> Step:
    cluster = cluster_of(THREE, {"node0": facts()})
    return steps(cluster, cluster.nodes["node0"])[0]


def run(folder: Path, script: str, *, container: bool = False, units: str = "", active: str = "") -> str:
    (folder / "systemctl").write_text(SYSTEMCTL)
    (folder / "systemd-detect-virt").write_text(f"#!/bin/sh\nexit {0 if container else 1}\n")
    for program in folder.iterdir():
        program.chmod(0o755)
    setting = f"PATH={folder}:$PATH; export PATH UNITS='{units}' ACTIVE='{active}'"
    return asyncio.run(LocalHost().run(f"{setting}\n{script}")).stdout.strip()


def test_a_container_leaves_the_clock_to_its_host(tmp_path: Path) -> None:
    assert run(tmp_path, step().probe(), container=True) == ""


@pytest.mark.parametrize("keeper", ["chrony", "ntpsec", "systemd-timesyncd"])
def test_whatever_keeps_the_clock_already_is_left_alone(tmp_path: Path, keeper: str) -> None:
    assert run(tmp_path, step().probe(), units=keeper, active=keeper) == ""


def test_an_installed_keeper_that_does_not_run_is_switched_on(tmp_path: Path) -> None:
    seen = run(tmp_path, step().probe(), units="chrony")
    change = step().diff(seen)
    assert isinstance(change, Change)
    assert run(tmp_path, change.script, units="chrony") == "enabled chrony"


def test_without_any_the_distributions_own_is_installed() -> None:
    change = step().diff("nothing keeps the clock right")
    assert isinstance(change, Change)
    assert "install systemd-timesyncd" in change.script


def test_a_machine_without_systemd_is_not_asked() -> None:
    cluster = cluster_of(THREE, {"node0": facts(manager="supervisord")})
    assert steps(cluster, cluster.nodes["node0"]) == []
