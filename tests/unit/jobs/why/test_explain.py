"""What `corral why` says, from what a real cluster told (tests/recorded/record_why.py)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.golden.compare import assert_golden

from corral.cli.why import text_of
from corral.jobs.why.explain import explain
from corral.jobs.why.facts import Facts, parse_facts
from corral.slurm.tres import Tres

TESTS = Path(__file__).parents[3]
RECORDED = TESTS / "recorded" / "why"
GOLDEN = TESTS / "golden" / "why"
NAMES = sorted(path.stem for path in RECORDED.glob("*.txt"))


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def facts(name: str) -> Facts:
    head, _, said = (RECORDED / f"{name}.txt").read_bytes().decode().partition("\n")
    label, _, tasks = head.partition(" ")
    return parse_facts(said, label, json.loads(tasks))


@pytest.mark.parametrize("name", NAMES)
def test_the_answer_is_the_golden_one(name: str) -> None:
    assert_golden(GOLDEN / f"{name}.txt", f"{text_of(explain(facts(name)))}\n".encode())


def test_on_a_narrow_terminal_sentences_wrap_and_commands_do_not() -> None:
    lines = text_of(explain(facts("priority")), width=80).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "    others: scontrol update jobid=10031 timelimit=MINUTES"


def test_a_job_that_no_node_can_hold_will_never_start() -> None:
    known = facts("resources")
    assert known.job is not None
    found = explain(replace(known, job=replace(known.job, wants=Tres(4, 800_000, 1, 2), gpus_per_node={"": 2})))
    assert "will never start as it is: 0 nodes of main could hold it" in found.headline
    assert found.suggestions[0] == "The biggest of the 3 nodes of main has 1 GPU, 2 CPUs and 7.2 GiB."
    assert found.expected_start is None


def test_a_type_of_gpu_that_no_node_has_will_never_start() -> None:
    known = facts("resources")
    assert known.job is not None
    found = explain(replace(known, job=replace(known.job, gpus_per_node={"h100": 1})))
    assert "will never start" in found.headline
    assert "1 h100 GPU" in found.headline


def test_fewer_nodes_are_advised_where_some_have_room_now() -> None:
    known = facts("resources")
    free = [replace(node, taken=Tres()) if node.name == "node1" else node for node in known.nodes]
    found = explain(replace(known, nodes=tuple(free)))
    assert "node1 has room now: --nodes 1 could start" in found.suggestions


def test_less_memory_is_advised_where_a_gpu_is_free_and_memory_is_not() -> None:
    known = facts("priority")
    tight = [replace(node, taken=Tres(1, 4000, 1, 0)) if node.name == "node1" else node for node in known.nodes]
    found = explain(replace(known, nodes=tuple(tight)))
    assert "node1 has 1 free GPU, 1 CPU and 3.3 GiB left: --cpus 1 --mem 3424M could start there" in found.suggestions


def test_another_partition_with_room_is_advised_only_if_its_time_limit_allows() -> None:
    known = facts("resources")
    assert known.job is not None
    spare = [replace(known.nodes[0], name=f"spare{i}", partitions=("short",), taken=Tres()) for i in range(2)]
    roomy = replace(known, nodes=(*known.nodes, *spare))
    assert "The partition short has room now: --partition short" in explain(roomy).suggestions
    long = replace(roomy, job=replace(known.job, time_limit_s=7200))
    assert not any("short" in way for way in explain(long).suggestions)


def test_an_unknown_reason_is_told_in_slurms_own_word() -> None:
    known = facts("resources")
    assert known.job is not None
    found = explain(replace(known, job=replace(known.job, reason="Moon_Phase")))
    assert "“Moon Phase”" in found.headline


def test_a_job_that_slurm_has_forgotten_is_told_by_its_own_record() -> None:
    known = replace(facts("exit-code"), job=None, runs=())
    assert "its command ended with exit code 7" in explain(known).headline
