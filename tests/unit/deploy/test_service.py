"""Services: which flaw leads to which act."""

from __future__ import annotations

import pytest

from corral.deploy.facts import ServiceManager
from corral.deploy.resources.service import Service


def service(manager: ServiceManager = "systemd") -> Service:
    return Service("slurmd", manager, reads=("/etc/default/slurmd",), ready="true")


@pytest.mark.parametrize(
    ("flaws", "summary"),
    [
        ("stopped\ndisabled\nstale\n", "start slurmd: it is not running"),
        ("stale\n", "restart slurmd: its configuration or program changed"),
        ("silent\n", "restart slurmd: it does not answer"),
        ("disabled\n", "enable slurmd"),
    ],
)
def test_each_flaw_is_mended_by_the_least_that_helps(flaws: str, summary: str) -> None:
    change = service().diff(flaws)
    assert change is not None
    assert change.summary == summary
    assert ("restart" in change.script) == (summary != "enable slurmd")


def test_a_running_current_answering_service_is_left_alone() -> None:
    assert service().diff("") is None


@pytest.mark.parametrize(("manager", "words"), [("systemd", "systemctl"), ("supervisord", "supervisorctl")])
def test_each_service_manager_is_spoken_to_in_its_own_words(manager: ServiceManager, words: str) -> None:
    change = service(manager).diff("stale\n")
    assert change is not None
    assert f"{words} restart slurmd" in change.script
