"""Evidence in, findings out: what real heads and nodes said in each fault (tests/recorded/nodes)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.deploy.clusters import cluster_of, facts

from corral.checks.catalogue import KINDS
from corral.checks.finding import Finding
from corral.checks.node_case import Case
from corral.checks.node_evidence import HeadEvidence, MachineEvidence, parse_head, parse_machine
from corral.checks.node_rules import findings_of, in_brief
from corral.slurm.text import NodeDetails, Reason

RECORDED = Path(__file__).parents[2] / "recorded" / "nodes"
FILE = """
name: nodes-lab
machines:
  node0: {address: 10.77.0.10}
  node1: {address: 10.77.0.11}
  node2: {address: 10.77.0.12}
storage: {shared: {mount: /shared}}
"""


def head(name: str) -> HeadEvidence:
    return parse_head((RECORDED / f"{name}.head.txt").read_text(), 0, 0)


def machine(name: str, asked_at_s: float = 0) -> MachineEvidence:
    return parse_machine((RECORDED / f"{name}.machine.txt").read_text(), asked_at_s, asked_at_s)


def case(name: str, *, file: str = FILE, reachable: bool = True) -> Case:
    found = {f"node{number}": facts(gpus={"rtx5090": 1}, memory_gib=24, cpus=2, cgroup="v1") for number in range(3)}
    cluster = cluster_of(file, found)
    node = cluster.nodes["node1"]
    return Case(cluster, node, head(name), machine(name) if reachable else None, "" if reachable else "timed out")


def with_reason(told: Case, reason: Reason) -> Case:
    """The same machine, drained with another reason."""
    details = told.head.nodes["node1"]
    changed: NodeDetails = replace(details, state="IDLE", flags=frozenset({"DRAIN"}), reason=reason)
    return replace(told, head=replace(told.head, nodes={"node1": changed}))


def only(found: list[Finding]) -> Finding:
    assert len(found) == 1, [finding.what for finding in found]
    return found[0]


def test_a_healthy_node_has_no_findings() -> None:
    assert findings_of(case("fine")) == []


@pytest.mark.parametrize(
    ("name", "kind", "words", "mend"),
    [
        ("slurmd-stopped", "slurmd-stopped", "slurmd does not run", "start slurmd"),
        ("gpu-missing", "gpu-missing", "GPUs declared: 1, there: 0; no /dev/nvidia0", None),
        ("gpu-count", "gpu-missing", "GPUs declared in slurm.conf: 2, device files in gres.conf: 1", None),
        ("gpus-back", "cause-gone", "1 GPUs where 2 were declared", "resume node1"),
        ("low-memory", "low-memory", "999999 MiB of memory are declared, 24576 MiB are there", None),
        ("munge-stopped", "munge-stopped", "munge does not run", "start munge, then start slurmd"),
        ("munge-key", "munge-key", "key is another", "restore the munge key, then start munge, then start slurmd"),
        ("disk-full", "disk-full", "/var/lib/slurm/slurmd has only 0 MiB left", None),
        ("mount-missing", "mount-missing", "/shared is not mounted", None),
        ("rebooted", "rebooted", "it rebooted without Slurm being told", "resume node1"),
        ("kill-task-failed", "kill-task-failed", "a job's processes did not end", "resume node1"),
        ("person", "drained-by-a-person", "by root at 2026-11-15 09:04:11: bad fan (alice)", None),
        ("config-stale", "config-stale", "another slurm.conf than the head", "start slurmd"),
    ],
)
def test_a_recorded_fault_is_explained_once_and_mended_only_where_it_is_safe(
    name: str, kind: str, words: str, mend: str | None
) -> None:
    finding = only(findings_of(case(name)))
    assert finding.kind == kind
    assert finding.where == "node1"
    assert words in finding.what
    assert (finding.mend.summary if finding.mend else None) == mend
    assert kind in {known.name for known in KINDS}


def test_a_node_that_head_and_operator_cannot_reach_is_off_and_one_that_still_accepts_connections_hangs() -> None:
    assert only(findings_of(case("powered-off", reachable=False))).kind == "machine-off"
    assert only(findings_of(case("unplugged", reachable=False))).kind == "machine-off"
    assert only(findings_of(case("hangs", reachable=False))).kind == "machine-hangs"


def test_a_broken_way_between_head_and_node_names_both_ports() -> None:
    found = findings_of(case("network"))
    assert [finding.kind for finding in found] == ["network", "network"]
    assert "6818" in found[0].what
    assert "6817" in found[1].what


@pytest.mark.parametrize(("slurmd_s", "kinds"), [(3, []), (300, ["network"])])
def test_a_slurmd_that_started_after_the_head_had_knocked_is_no_matter_of_the_network(
    slurmd_s: int, kinds: list[str]
) -> None:
    told = case("fine")
    closed = replace(told.head, ports={**told.head.ports, "node1": "refused"})
    told = replace(told, head=closed, machine=replace(machine("fine"), slurmd_s=slurmd_s))
    assert [finding.kind for finding in findings_of(told)] == kinds


def test_a_clock_that_is_off_is_told_with_its_distance_and_direction() -> None:
    told = case("fine")
    late = replace(told, machine=machine("fine", asked_at_s=400))
    assert only(findings_of(late)).what == "its clock is 400 s behind the head's"
    early = replace(told, machine=machine("fine", asked_at_s=-7))
    assert only(findings_of(early)).what == "its clock is 7 s ahead of the head's"


def test_an_expired_signature_is_the_clock_s_fault_when_the_clock_is_off() -> None:
    late = replace(machine("fine", asked_at_s=400), munge=15)
    assert only(findings_of(replace(case("fine"), machine=late))).kind == "clock"


def with_clocks(head_s: float, node_s: float) -> Case:
    """Both as this computer sees them."""
    told = case("fine")
    assert told.machine is not None
    return replace(told, head=replace(told.head, clock_s=head_s), machine=replace(told.machine, clock_s=node_s))


def test_a_head_whose_clock_is_off_is_blamed_and_not_the_node_that_agrees_with_this_computer() -> None:
    finding = only(findings_of(with_clocks(head_s=600, node_s=0)))
    assert (finding.kind, finding.severity) == ("clock", "error")
    assert finding.what == (
        "its clock is 600 s behind the head's, and it is the head's that is wrong: 600 s ahead of this computer's"
    )
    assert finding.fix.startswith("On node0: Switch time synchronisation on")


def test_a_head_that_differs_from_this_computer_gets_a_warning_because_either_may_be_wrong() -> None:
    told = with_clocks(head_s=600, node_s=600)
    assert findings_of(told) == []
    finding = only(findings_of(replace(told, node=told.cluster.head)))
    assert (finding.severity, finding.what) == ("warning", "its clock is 600 s ahead of this computer's")


def test_a_machine_that_is_slow_to_answer_has_no_wrong_clock() -> None:
    said = (RECORDED / "fine.machine.txt").read_text()
    told_at_s = machine("fine").clock_s
    assert parse_machine(said, told_at_s - 20, told_at_s + 1).clock_s == 0
    assert parse_machine(said, told_at_s + 10, told_at_s + 20).clock_s == pytest.approx(-10)
    assert parse_machine(said, told_at_s - 20, told_at_s - 10).clock_s == pytest.approx(10)


def test_memory_from_the_file_is_named_as_the_place_to_mend() -> None:
    file = FILE.replace("10.77.0.11}", "10.77.0.11, memory: 2000GiB}")
    assert "the cluster file has `memory:`" in only(findings_of(case("low-memory", file=file))).what


def test_processes_that_still_hang_keep_a_node_drained() -> None:
    told = case("kill-task-failed")
    assert told.machine is not None
    stuck = replace(told, machine=replace(told.machine, stuck=("812 (python)",)))
    finding = only(findings_of(stuck))
    assert "812 (python)" in finding.what
    assert finding.mend is None


@pytest.mark.parametrize(
    ("here", "severity"), [("25.05.1", "error"), ("23.11.4", "warning")], ids=["a newer node", "an older node"]
)
def test_another_slurm_version_than_the_head_s_is_found(here: str, severity: str) -> None:
    told = case("fine")
    assert told.machine is not None
    finding = only(findings_of(replace(told, machine=replace(told.machine, slurm=here))))
    assert (finding.kind, finding.severity) == ("version", severity)
    assert f"Slurm {here} here, 24.11.5 on the head" in finding.what


def test_a_file_edited_on_the_head_is_the_head_s_finding_and_not_each_node_s() -> None:
    told = case("config-unread")
    on_head = replace(told, node=told.cluster.nodes["node0"])
    assert "config-unread" in [finding.kind for finding in findings_of(on_head)]
    assert "config-stale" not in [finding.kind for finding in findings_of(told)]


def test_a_shared_folder_that_can_be_mounted_is_mended_and_one_that_hangs_is_not() -> None:
    told = case("mount-missing")
    assert told.machine is not None
    known = only(findings_of(replace(told, machine=replace(told.machine, mountable=True))))
    assert known.mend is not None
    assert known.mend.summary == "mount /shared"
    hangs = only(findings_of(replace(told, machine=replace(told.machine, mount="hangs"))))
    assert hangs.mend is None


def test_a_fault_of_the_machine_comes_before_what_slurm_still_holds_against_it() -> None:
    drained = with_reason(case("munge-key"), Reason("Not responding", "slurm", "2026-11-15T09:00:00"))
    assert only(findings_of(drained)).kind == "munge-key"


def test_what_a_person_drained_is_never_resumed_whatever_else_is_found() -> None:
    for name in ("fine", "munge-key", "gpus-back", "slurmd-stopped"):
        drained = with_reason(case(name), Reason("swap the fan (alice)", "root", "2026-11-15T09:00:00"))
        found = findings_of(drained)
        assert "drained-by-a-person" in [finding.kind for finding in found]
        assert not any(finding.mend and "resume" in finding.mend.summary for finding in found)


def test_a_reason_of_slurm_itself_that_nobody_knows_is_shown_as_it_is() -> None:
    drained = with_reason(case("fine"), Reason("a reason of tomorrow", "slurm", "2026-11-15T09:00:00"))
    assert "a reason of tomorrow" in only(findings_of(drained)).what


def test_a_refused_registration_is_tried_again_before_the_node_is_resumed() -> None:
    told = case("gpus-back")
    refused = replace(told.head.nodes["node1"], flags=frozenset({"DRAIN", "INVALID_REG"}))
    finding = only(findings_of(replace(told, head=replace(told.head, nodes={"node1": refused}))))
    assert finding.mend is not None
    assert finding.mend.summary == "start slurmd"


def test_resuming_refuses_when_somebody_gave_another_reason_meanwhile() -> None:
    finding = only(findings_of(case("rebooted")))
    assert finding.mend is not None
    assert "'Node unexpectedly rebooted'*)" in finding.mend.script


def test_the_munge_key_travels_on_stdin_only() -> None:
    finding = only(findings_of(case("munge-key")))
    assert finding.mend is not None
    assert b"munge-secret" in finding.mend.stdin
    assert "munge-secret" not in finding.mend.script + repr(finding)


@pytest.mark.parametrize(
    ("reason", "by", "words"),
    [
        ("Low RealMemory (reported:24105 < 100.00% of configured:999999)", "slurm", "24105 MiB found, 999999 MiB"),
        ("gres/gpu count reported lower than configured (1 < 2)", "slurm", "a GPU is missing: 1 found, 2 declared"),
        ("Not responding", "slurm", "it does not respond. Try: corral doctor node1"),
        ("Kill task failed", "root", "a job there could not be ended"),
        ("bad fan", "root", "taken out of service by a person: bad fan"),
    ],
)
def test_status_has_plain_words_for_a_reason(reason: str, by: str, words: str) -> None:
    assert words in in_brief("node1", Reason(reason, by, ""))
