"""Plans: what is certain, what depends on something pending, what is already right."""

from __future__ import annotations

import pytest

from corral.deploy.plan import Graph, plan
from corral.deploy.resources.script import Script


def step(name: str, *after: str) -> Script:
    return Script(name, look="", act="", doing=f"do {name}", after=after)


def test_what_is_right_stays_and_what_is_missing_is_listed() -> None:
    graph = Graph("head", {"head": [step("a"), step("b")]})
    planned = plan(graph, {("head", "a"): "", ("head", "b"): "missing"})
    assert [(item.step, item.verdict) for item in planned] == [("a", "ok"), ("b", "change")]


def test_a_step_after_a_pending_one_is_unknown_and_says_on_what_it_depends() -> None:
    graph = Graph("head", {"head": [step("conf"), step("daemon", "conf"), step("user", "daemon")]})
    planned = plan(graph, {("head", "conf"): "differs", ("head", "daemon"): "", ("head", "user"): ""})
    assert [(item.step, item.verdict, item.waits_for) for item in planned] == [
        ("conf", "change", ""),
        ("daemon", "unknown", "conf"),
        ("user", "unknown", "conf"),
    ]


def test_a_node_waits_for_the_head_by_name() -> None:
    graph = Graph("n0", {"n0": [step("slurmctld")], "n1": [step("slurmd", "head/slurmctld")]})
    planned = plan(graph, {("n0", "slurmctld"): "stopped", ("n1", "slurmd"): ""})
    assert planned[1].host == "n1"
    assert planned[1].waits_for == "n0/slurmctld"


def test_a_machine_that_was_not_observed_is_not_in_the_plan() -> None:
    graph = Graph("n0", {"n0": [step("a")], "n1": [step("a")]})
    assert [item.host for item in plan(graph, {("n0", "a"): ""})] == ["n0"]


def test_steps_that_wait_for_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="circle"):
        Graph("n0", {"n0": [step("a", "b"), step("b", "a")]})
