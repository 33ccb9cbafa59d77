from __future__ import annotations

import pytest

from corral.errors import InputError
from corral.spec.local import local_cluster
from corral.spec.model import LocalSpec


def test_a_local_cluster_has_numbered_machines_one_head_a_shared_directory_and_one_person() -> None:
    spec = local_cluster("lab", 3, {"gpus": 2})
    assert tuple(spec.machines) == spec.compute_machines == ("node0", "node1", "node2")
    assert spec.head == "node0"
    assert spec.local == LocalSpec(gpus=2)
    assert spec.storage is not None
    assert spec.storage.shared.mount == "/shared"
    assert spec.jobs_folder == "/shared/jobs"
    assert list(spec.users) == ["researcher"]


@pytest.mark.parametrize(
    ("name", "count", "message"),
    [
        ("lab", 0, "machines is empty; it needs at least one entry"),
        ("lab", 201, "201 local machines; at most 200 fit"),
        ("My Lab", 1, "'My Lab' is not a valid name; use lower-case letters, "),
    ],
)
def test_what_cannot_be_made_is_an_input_error(name: str, count: int, message: str) -> None:
    with pytest.raises(InputError) as caught:
        local_cluster(name, count, {})
    assert str(caught.value).startswith(message)
