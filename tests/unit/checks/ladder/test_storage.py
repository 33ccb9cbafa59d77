"""Who is to blame when nodes do not see the same folder."""

from __future__ import annotations

from corral.checks.ladder.jobs import Answer
from corral.checks.ladder.storage import Seen, blame, see


def found(seen: Seen) -> list[tuple[str, str]]:
    return [(finding.where, finding.kind) for finding in blame(seen, "/shared", "alice")]


def test_a_node_that_cannot_write_is_named_once() -> None:
    wrote = {"n0": Answer(0, ({"problem": ""},), ""), "n1": Answer(0, ({"problem": "Read-only file system"},), "")}
    read = {name: Answer(0, ({"problems": {}},), "") for name in wrote}
    assert found(see(wrote, read)) == [("n1", "share-unwritable")]


def test_a_node_with_a_folder_of_its_own_is_named_and_not_those_who_miss_its_file() -> None:
    missing = "No such file or directory"
    unread = {"n0": {"n2": missing}, "n1": {"n2": missing}, "n2": {"n0": missing, "n1": missing}}
    assert found(Seen(unread=unread, readers=("n0", "n1", "n2"))) == [("n2", "share-differs")]


def test_of_two_nodes_that_see_different_folders_nobody_can_tell_whose_is_right() -> None:
    unread = {"n0": {"n1": "No such file"}, "n1": {"n0": "No such file"}}
    assert found(Seen(unread=unread, readers=("n0", "n1"))) == [("n0 – n1", "share-differs")]


def test_a_job_that_did_not_run_is_no_fault_of_the_storage() -> None:
    wrote = {"n0": Answer(0, ({"problem": ""},), ""), "n1": Answer(1, (), "srun: error: Task launch failed")}
    assert found(see(wrote, {})) == [("n1", "job-fails")]
