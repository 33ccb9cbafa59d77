"""What `status` sees of a machine, asked on this machine's real shell."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from corral.hosts.local import LocalHost
from corral.spec.load import parse_cluster
from corral.spec.model import ClusterSpec
from corral.workflows.session import Session
from corral.workflows.status import MachineStatus, machine_status, problems


def spec_with(storage: str) -> ClusterSpec:
    text = "name: lab\nmachines: {node0: {address: 192.0.2.10}, node1: {address: 192.0.2.11}}\n"
    return parse_cluster(f"{text}storage: {{shared: {{{storage}}}}}\n", "cluster.yaml")


def asked(spec: ClusterSpec, name: str) -> MachineStatus:
    return asyncio.run(machine_status(Session(spec, {}, {name: LocalHost()}), name))


def test_a_shared_folder_that_is_not_mounted_is_seen_except_where_it_is_a_folder_of_the_server_s_own(
    tmp_path: Path,
) -> None:
    spec = spec_with(f"server: node1, path: {tmp_path}/gone, mount: {tmp_path}/gone")
    assert asked(spec, "node0").shared_folder == "missing"
    assert asked(spec, "node1").shared_folder == ""


def test_a_mount_that_answers_is_fine_and_one_that_does_not_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    findmnt, shared = tmp_path / "findmnt", tmp_path / "shared"
    findmnt.write_text(f"#!/bin/sh\necho {shared}\n")
    findmnt.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    spec = spec_with(f"mount: {shared}")
    assert asked(spec, "node0").shared_folder == "hangs"
    shared.mkdir()
    assert asked(spec, "node0").shared_folder == ""


@pytest.mark.parametrize(("state", "words"), [("missing", "is not mounted"), ("hangs", "does not answer")])
def test_the_machine_is_named_with_what_to_try(state: str, words: str) -> None:
    spec = spec_with("mount: /data")
    machine = replace(asked(spec, "node0"), daemons={}, shared_folder=state)
    assert problems(spec, [machine], (), "slurmctld is UP") == [f"node0: /data {words}. Try: corral doctor node0"]
    assert problems(spec, [replace(machine, shared_folder="")], (), "slurmctld is UP") == []
