"""A clock that is off, for real: these machines have clocks of their own."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.cluster.lab import Lab, eventually
from tests.vm.vms import Machines, Vm, works

pytestmark = pytest.mark.timeout(2400)

_DOWN_S = 200
_BACK_S = 400


@contextmanager
def clock_off_by(vm: Vm, seconds: int) -> Iterator[None]:
    # The service would write the wrong time down, for the next boot to start from.
    vm.ssh("systemctl stop systemd-timesyncd")
    vm.ssh(f"date -s @{time.time() + seconds:.0f}")
    try:
        yield
    finally:
        vm.ssh(f"date -s @{time.time():.0f} && systemctl start systemd-timesyncd")


def test_a_node_that_is_down_because_of_its_clock_is_explained_so_and_left_to_a_person(
    machines: Machines, lab: Lab
) -> None:
    head, node = machines["node0"], machines["node1"]
    with clock_off_by(node, 600):
        # Munge refuses what the node signs, and to Slurm it is silent.
        eventually(lambda: "down" in head.ssh("sinfo -hN -n node1 -o %T"), within_s=_DOWN_S, every_s=2)
        (found,) = lab.json("doctor", exit_code=1)["findings"]
        assert (found["where"], found["kind"], found["can_mend"]) == ("node1", "clock", False)
        assert re.fullmatch(r"its clock is (59\d|60\d) s ahead of the head's", found["what"])
        assert "Switch time synchronisation on" in found["fix"]

        report = lab.json("check", "--only", "munge,hello", exit_code=1)
        found = [(rung["rung"], one["where"], one["kind"]) for rung in report["rungs"] for one in rung["findings"]]
        assert found == [("munge", "node1", "clock")]
        assert 590 < report["rungs"][0]["numbers"]["clock_offset_s"]["node1"] < 610

        # To step the clock under running jobs is nobody's decision but the owner's.
        assert lab.json("doctor", "--fix", exit_code=1)["mended"] == []
        said = lab.corral("up", exit_code=1)
        assert "node1: its clock is" in said
        assert "switch time synchronisation on" in said
        assert int(node.ssh("date +%s")) > time.time() + 500
    eventually(lambda: works(machines, "alice"), within_s=_BACK_S, every_s=3)
    assert lab.json("doctor")["findings"] == []


def test_a_head_whose_clock_is_off_is_blamed_itself_and_not_its_nodes_or_their_keys(
    machines: Machines, lab: Lab
) -> None:
    # Behind, not ahead: put right again, the controller would take its own timers to be in the future.
    with clock_off_by(machines["node0"], -600):
        findings = {found["where"]: found for found in lab.json("doctor", exit_code=1)["findings"]}
    assert {found["kind"] for found in findings.values()} == {"clock"}
    assert re.search(r"it is the head's that is wrong: (59\d|60\d) s behind this computer's", findings["node1"]["what"])
    assert findings["node1"]["fix"].startswith("On node0: ")
    assert findings["node0"]["severity"] == "warning"
    eventually(lambda: works(machines, "alice"), within_s=_BACK_S, every_s=3)
