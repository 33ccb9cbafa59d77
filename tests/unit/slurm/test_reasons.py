"""Slurm's own reasons are told from people's."""

from __future__ import annotations

from pathlib import Path

import pytest

from corral.slurm.reasons import Verdict, judge
from corral.slurm.text import Reason, parse_node_details

RECORDED = Path(__file__).parents[2] / "recorded" / "nodes"


def details(name: str) -> str:
    return (RECORDED / f"{name}.head.txt").read_text().partition("--nodes--\n")[2]


@pytest.mark.parametrize(
    ("text", "by", "verdict"),
    [
        ("Low RealMemory (reported:24105 < 100.00% of configured:999999)", "slurm", Verdict("memory", 999999, 24105)),
        ("gres/gpu count reported lower than configured (1 < 2)", "slurm", Verdict("gpus", 2, 1)),
        ("gres/gpu count too low (0 < 8)", "slurm", Verdict("gpus", 8, 0)),
        ("Low socket*core*thread count, Low CPUs", "slurm", Verdict("cpus")),
        ("Not responding", "slurm", Verdict("silent")),
        ("Node unexpectedly rebooted", "slurm", Verdict("rebooted")),
        ("Kill task failed", "root", Verdict("unkillable")),
        ("Prolog error", "slurm", Verdict("job-start")),
        ("something new", "slurm", Verdict("slurm")),
        ("something new", "root", Verdict("person")),
        ("memory module replaced, Low RealMemory expected", "alice", Verdict("person")),
    ],
)
def test_a_reason_is_judged_by_its_text_and_then_by_its_author(text: str, by: str, verdict: Verdict) -> None:
    assert judge(Reason(text, by, "")) == verdict


def test_a_node_s_state_its_flags_and_what_was_declared_are_read() -> None:
    node = parse_node_details(details("low-memory"))["node1"]
    assert node.flags >= {"DRAIN", "INVALID_REG"}
    assert (node.memory_mib, node.gpus, node.version) == (999999, 1, "24.11.5")
    assert node.out_of_service
    assert not parse_node_details(details("fine"))["node1"].out_of_service


def test_a_reason_comes_with_author_and_time_and_may_look_like_a_field() -> None:
    line = "NodeName=n1 RealMemory=1 State=IDLE+DRAIN Version=24.11.5  Reason=a [b] State=c [root@2026-11-15T09:00:00]"
    node = parse_node_details(f"{line} Comment=foo bar Extra=3\n")["n1"]
    assert node.state == "IDLE"
    assert node.reason == Reason("a [b] State=c", "root", "2026-11-15T09:00:00")
