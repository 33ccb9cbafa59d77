"""Each finding of preflight: what it takes to be found, and what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.deploy.clusters import THREE, facts

from corral.checks.evidence import Evidence
from corral.checks.finding import Finding
from corral.checks.preflight import ALL, out_of_reach, preflight
from corral.deploy.facts import Facts
from corral.deploy.survey import SlurmConf, Survey
from corral.spec.load import parse_cluster

GIB = 1 << 30


def survey(number: int, **changes: Any) -> Survey:
    """A machine on which all is well."""
    well = Survey(
        hostname=f"node{number}",
        machine_id=f"{number:032}",
        clock_offset_s=0.0,
        free_bytes={"/": 50 * GIB, "/var": 50 * GIB},
        addresses=(f"192.0.2.1{number}",),
        ports={},
        slurm_confs=(),
        foreign_packages=(),
        sysctls={"user/max_user_namespaces": "96349"},
        mirror="not asked",
        mirror_uri="",
    )
    return replace(well, **changes)


def found(*surveys: Survey, known: Sequence[Facts] = (), text: str = THREE) -> list[Finding]:
    spec = parse_cluster(text, "c.yaml")
    names = list(spec.machines)
    all_facts = {name: known[i] if i < len(known) else facts() for i, name in enumerate(names)}
    return preflight(Evidence(spec, all_facts, dict(zip(names, surveys, strict=False))), ALL)


def only(findings: Sequence[Finding]) -> Finding:
    assert len(findings) == 1, findings
    assert findings[0].fix
    return findings[0]


def bare(**changes: Any) -> Facts:
    return replace(facts(slurm=None), **changes)


def test_machines_on_which_all_is_well_have_no_findings() -> None:
    assert found(survey(0), survey(1), survey(2)) == []


def test_a_machine_out_of_reach_is_an_error_with_its_reason() -> None:
    finding = only(out_of_reach({"node1": "no SSH at root@192.0.2.11:22: timeout"}))
    assert (finding.severity, finding.where) == ("error", "node1")
    assert "no SSH at root@192.0.2.11:22" in finding.what


@pytest.mark.parametrize(
    ("os", "version"), [("debian", "12"), ("debian", "13"), ("debian", ""), ("ubuntu", "22.04"), ("ubuntu", "26.04")]
)
def test_supported_systems_are_welcome(os: str, version: str) -> None:
    assert found(survey(0), known=[bare(os=os, os_version=version)]) == []


@pytest.mark.parametrize(
    ("os", "version"), [("debian", "11"), ("ubuntu", "20.04"), ("ubuntu", "22.03"), ("rocky", "9.4"), ("arch", "")]
)
def test_other_systems_are_refused_kindly(os: str, version: str) -> None:
    finding = only(found(survey(0), known=[bare(os=os, os_version=version, os_name=f"{os} {version}")]))
    assert finding.severity == "error"
    assert f"{os} {version}" in finding.what
    assert "Ubuntu 22.04" in finding.fix


def test_a_full_disk_is_an_error_where_packages_are_missing_and_a_warning_elsewhere() -> None:
    full = survey(0, free_bytes={"/": 50 * GIB, "/var": GIB // 2})
    finding = only(found(full, known=[bare()]))
    assert finding.severity == "error"
    assert finding.what == "only 0.5 GiB are free on /var; the packages need 1 GiB"
    assert only(found(full)).severity == "warning"


def test_one_file_system_is_one_finding() -> None:
    assert "free on /" in only(found(survey(0, free_bytes={"/": GIB // 2, "/var": GIB // 2}))).what


@pytest.mark.parametrize(
    ("offset", "severity"), [(3.0, "warning"), (-59.0, "warning"), (61.0, "error"), (-900.0, "error")]
)
def test_a_clock_that_differs_from_the_heads_is_found(offset: float, severity: str) -> None:
    finding = only(found(survey(0), survey(1, clock_offset_s=offset)))
    assert (finding.severity, finding.where) == (severity, "node1")
    assert f"{abs(offset):.0f} s {'ahead of' if offset > 0 else 'behind'} the head's" in finding.what


def test_small_differences_are_nothing() -> None:
    assert found(survey(0, clock_offset_s=-1.0), survey(1, clock_offset_s=0.9)) == []


def test_when_all_machines_agree_it_is_this_computers_clock_that_differs() -> None:
    finding = only(found(survey(0, clock_offset_s=300.0), survey(1, clock_offset_s=300.0)))
    assert (finding.severity, finding.where) == ("warning", "node0")
    assert "this computer's" in finding.what


def test_one_machine_under_two_names_is_an_error() -> None:
    finding = only(found(survey(0), survey(1, machine_id=f"{0:032}", addresses=("192.0.2.10", "10.0.0.1"))))
    assert finding.severity == "error"
    assert "same machine as node0" in finding.what


def test_a_copied_machine_id_is_a_warning() -> None:
    finding = only(found(survey(0), survey(1, machine_id=f"{0:032}")))
    assert finding.severity == "warning"
    assert "same machine id as node0" in finding.what


def test_machines_without_an_id_are_not_the_same() -> None:
    assert found(survey(0, machine_id=""), survey(1, machine_id="")) == []


def test_a_machine_that_has_anothers_name_is_a_warning() -> None:
    finding = only(found(survey(0), survey(1, hostname="node2.example.org")))
    assert finding.severity == "warning"
    assert "calls itself node2" in finding.what


def test_two_machines_of_one_name_are_a_warning() -> None:
    finding = only(found(survey(0), survey(1, hostname="ubuntu"), survey(2, hostname="ubuntu")))
    assert (finding.severity, finding.where) == ("warning", "node2")
    assert "so does node1" in finding.what


def test_a_port_taken_by_another_program_is_an_error() -> None:
    finding = only(found(survey(0, ports={6817: "python3"})))
    assert finding.severity == "error"
    assert finding.what == "port 6817, which slurmctld needs, is taken by python3"


def test_a_port_held_by_our_own_daemon_or_not_needed_there_is_nothing() -> None:
    ours = {6817: "slurmctld", 6818: "slurmd", 6819: "slurmdbd", 6820: "slurmrestd"}
    assert found(survey(0, ports=ours), survey(1, ports={6817: "python3"})) == []


def test_a_port_of_a_nameless_program_is_still_an_error() -> None:
    assert "unknown program" in only(found(survey(0), survey(1, ports={6818: ""}))).what


@pytest.mark.parametrize(
    ("conf", "says"),
    [
        (SlurmConf("/etc/slurm/slurm.conf", False, "hpc"), "of the cluster 'hpc' on it: /etc/slurm/slurm.conf"),
        (SlurmConf("/etc/slurm/slurm.conf", True, "other"), "of the cluster 'other'"),
        (SlurmConf("/usr/local/etc/slurm.conf", False, ""), "that Corral did not set up"),
    ],
)
def test_anothers_slurm_is_an_error(conf: SlurmConf, says: str) -> None:
    finding = only(found(survey(0, slurm_confs=(conf,))))
    assert finding.severity == "error"
    assert says in finding.what


def test_our_own_configuration_is_nothing() -> None:
    assert found(survey(0, slurm_confs=(SlurmConf("/etc/slurm/slurm.conf", True, "lab"),))) == []


def test_packages_of_another_make_are_an_error() -> None:
    finding = only(found(survey(0, foreign_packages=("slurm-smd", "slurm-smd-slurmd"))))
    assert finding.severity == "error"
    assert "slurm-smd, slurm-smd-slurmd" in finding.what


def with_gpus(usable: int, plugged: int, driver: str) -> Facts:
    return replace(facts(gpus={"h100": usable}), nvidia_gpus_on_pci=plugged, nvidia_driver=driver)


def test_unequal_drivers_are_a_warning_where_they_are_in_the_minority() -> None:
    known = [with_gpus(1, 1, version) for version in ("580.95.05", "570.86.15", "580.95.05")]
    finding = only(found(survey(0), survey(1), survey(2), known=known))
    assert (finding.severity, finding.where) == ("warning", "node1")
    assert finding.what == "NVIDIA driver 570.86.15 here, 580.95.05 on node0"


def test_fewer_gpus_than_declared_are_an_error() -> None:
    text = "name: lab\nmachines: {node0: {address: 192.0.2.10, gpus: {type: h100, count: 8}}}\n"
    finding = only(found(survey(0), known=[with_gpus(7, 8, "580")], text=text))
    assert finding.severity == "error"
    assert "8 GPUs for it, 7 can be used" in finding.what


def test_gpus_without_a_driver_are_a_warning_unless_corral_installs_it() -> None:
    finding = only(found(survey(0), known=[with_gpus(0, 1, "")]))
    assert finding.severity == "warning"
    assert finding.what == "1 NVIDIA GPUs are plugged in, 0 can be used (no NVIDIA driver is loaded)"
    assert found(survey(0), known=[with_gpus(0, 1, "")], text=THREE + 'gpu: {driver: "580"}\n') == []


def test_a_mirror_out_of_reach_is_an_error() -> None:
    finding = only(found(survey(0, mirror="unreachable", mirror_uri="http://mirror.example.org/InRelease")))
    assert finding.severity == "error"
    assert "http://mirror.example.org/InRelease cannot be fetched" in finding.what
    assert "no package source" in only(found(survey(0, mirror="unreachable"))).what


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kernel/apparmor_restrict_unprivileged_userns", "1"),
        ("kernel/unprivileged_userns_clone", "0"),
        ("user/max_user_namespaces", "0"),
    ],
)
def test_what_keeps_containers_from_starting_is_a_warning_that_never_stops_up(key: str, value: str) -> None:
    finding = only(found(survey(0, sysctls={key: value})))
    assert finding.severity == "warning"
    assert f"{key.replace('/', '.')}={value}" in finding.what
    spec = parse_cluster(THREE, "c.yaml")
    assert preflight(Evidence(spec, {"node0": facts()}, {"node0": survey(0, sysctls={key: value})})) == []


def test_errors_come_first() -> None:
    findings = found(survey(0), survey(1, hostname="node2", ports={6818: "nginx"}))
    assert [finding.severity for finding in findings] == ["error", "warning"]
