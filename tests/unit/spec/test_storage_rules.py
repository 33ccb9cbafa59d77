from __future__ import annotations

from typing import Any

import pytest

from corral.spec.document import Where
from corral.spec.model import ClusterSpec
from corral.spec.rules import broken_rules


def broken(shared: dict[str, Any], **sections: Any) -> dict[Where, str]:
    machines = {f"node{n}": {"address": f"192.0.2.1{n}"} for n in range(2)}
    data = {"name": "lab", "machines": machines, "storage": {"shared": shared}, **sections}
    return {where[2:]: message for where, message in broken_rules(ClusterSpec.model_validate(data))}


@pytest.mark.parametrize(
    "shared",
    [
        {"server": "node0", "path": "/srv/shared"},
        {"server": "node0", "path": "/shared"},
        {"nfs": "nas.lan:/export", "mount": "/mnt/lab-data"},
        {"nfs": "[2001:db8::1]:/"},
        {"mount": "/data"},
        {"mount": "/home"},
        {},
    ],
)
def test_each_kind_of_storage_is_told_by_its_keys(shared: dict[str, str]) -> None:
    assert broken(shared) == {}


@pytest.mark.parametrize(
    ("shared", "where", "message"),
    [
        (
            {"path": "/s"},
            (),
            "storage.shared has path but not server; give both, or neither for a mount that exists",
        ),
        (
            {"server": "nod1", "path": "/srv"},
            ("server",),
            "there is no machine 'nod1'; machines: node0, node1; did you mean 'node1'?",
        ),
        (
            {"server": "nas.lan", "path": "/export"},
            ("server",),
            "there is no machine 'nas.lan'; machines: node0, node1; "  # noqa: ISC004 (one message in two lines)
            "a server outside the cluster goes into nfs: nas.lan:/export",
        ),
        (
            {"nfs": "nas:/export", "path": "/srv"},
            ("nfs",),
            "storage.shared has nfs, for a server outside the cluster, and path, for a machine of it; keep one",
        ),
        ({"mount": "/usr"}, ("mount",), "a mount on /usr would hide the system's own files; use another place"),
        (
            {"nfs": "nas:/home", "mount": "/home"},
            ("mount",),
            "a mount on /home would hide the system's own files; use another place",
        ),
        (
            {"server": "node0", "path": "/etc"},
            ("path",),
            "/etc has the system's own files, which nobody else should see",
        ),
        (
            {"server": "node0", "path": "/shared/data"},
            ("path",),
            "/shared/data and the mount /shared lie one inside the other; use separate places",
        ),
    ],
)
def test_what_cannot_be_meant_is_explained(shared: dict[str, str], where: Where, message: str) -> None:
    assert broken(shared) == {where: message}


@pytest.mark.parametrize(
    ("shared", "where", "message"),
    [
        ({"nfs": "nas:/export"}, ("nfs",), "with local, the machines share /shared already; remove nfs"),
        ({"mount": "/data"}, ("mount",), "with local, the machines share /shared; use that"),
    ],
)
def test_local_machines_have_their_own_shared_folder(shared: dict[str, str], where: Where, message: str) -> None:
    assert broken(shared, local={}, machines={"node0": {}}) == {where: message}


def test_homes_are_on_what_is_shared() -> None:
    def home(**sections: Any) -> str:
        return ClusterSpec.model_validate({"name": "lab", "machines": {"a": {}}, **sections}).home("alice")

    assert home() == "/home/alice"
    assert home(storage={"shared": {"mount": "/data"}}) == "/data/home/alice"
    assert home(storage={"shared": {"mount": "/nas/home"}}) == "/nas/home/alice"
