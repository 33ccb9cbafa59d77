from __future__ import annotations

import base64
from typing import Any

import pytest

from corral.spec.document import KEY, Where
from corral.spec.model import ClusterSpec
from corral.spec.rules import broken_rules

_BLOB = base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0 " + bytes(range(32))).decode()
PUBLIC_KEY = f"ssh-ed25519 {_BLOB} ada@desk"
PRIVATE_KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0\n-----END OPENSSH PRIVATE KEY-----\n"
SECRET = "c2VjcmV0"


def broken(**sections: Any) -> dict[Where, str]:
    """The broken rules of a right local cluster with some sections replaced."""
    right = {"name": "lab", "local": {}, "machines": {"node0": {}, "node1": {}}}
    return dict(broken_rules(ClusterSpec.model_validate({**right, **sections})))


def test_a_right_cluster_breaks_no_rule() -> None:
    users = {"ada": {"ssh_keys": [PUBLIC_KEY]}, "grace": {"uid": 1000}}
    storage = {"shared": {"mount": "/shared"}}
    partitions = {
        "a": {"machines": ["node0"], "default": True},
        "b": {"max_time": "60", "default_time": "30"},
    }
    assert broken(users=users, storage=storage, partitions=partitions, slurm={"conf": {"Prolog": "/p"}}) == {}


@pytest.mark.parametrize(
    ("sections", "where", "message"),
    [
        (
            {"machines": {"a": {"roles": ["head", "compute"]}, "b": {"roles": ["head"]}}},
            ("machines", "b", "roles"),
            "only one machine can be the head, and a is already",
        ),
        (
            {"machines": {"a": {"roles": ["compute"]}, "b": {}}},
            ("machines",),
            "no machine is the head; add head to the roles of one of them",
        ),
        (
            {"machines": {"a": {"roles": ["head"]}}},
            ("machines",),
            "no machine runs jobs; add compute to the roles of at least one",
        ),
        (
            {"machines": {"localhost": {}}},
            ("machines", "localhost", KEY),
            "'localhost' has a meaning of its own; give the machine another name",
        ),
        (
            {"machines": {f"node{n}": {} for n in range(201)}},
            ("machines",),
            "201 local machines; at most 200 fit",
        ),
        (
            {"partitions": {"p": {"machines": ["node0", "nod1"]}}},
            ("partitions", "p", "machines", 1),
            "there is no machine 'nod1'; machines: node0, node1; did you mean 'node1'?",
        ),
        (
            {"partitions": {"p": {"machines": ["node0"]}}},
            ("machines", "node1"),
            "node1 is in no partition, so it can never run a job; add it to one",
        ),
        (
            {"partitions": {"p": {"machines": []}, "q": {}}},
            ("partitions", "p", "machines"),
            "p has no machines; name some, or write all",
        ),
        (
            {
                "machines": {"a": {"roles": ["head"]}, "b": {}},
                "partitions": {"p": {"machines": ["a", "b"]}},
            },
            ("partitions", "p", "machines", 0),
            "a runs no jobs; add compute to its roles, or take it out of p",
        ),
        (
            {"partitions": {"p": {"default": True}, "q": {"default": True}}},
            ("partitions", "q", "default"),
            "only one partition is the default, and p is already",
        ),
        (
            {"partitions": {"default": {}}},
            ("partitions", "default", KEY),
            "'default' means something to Slurm; give the partition another name",
        ),
        (
            {"partitions": {"p": {"max_time": "1-00:00:00", "default_time": "1441"}}},
            ("partitions", "p", "default_time"),
            "default_time is longer than max_time, which is 1-00:00:00",
        ),
        (
            {"users": {"ada": {"uid": 2000}, "bob": {"uid": 2000}}},
            ("users", "bob", "uid"),
            "bob and ada have the same uid 2000; set uid to tell them apart",
        ),
        (
            {"slurm": {"conf": {"ClusterName": "a"}}},
            ("slurm", "conf", "ClusterName", KEY),
            "ClusterName has its own place: name",
        ),
        (
            {"slurm": {"conf": {"nodename": "a"}}},
            ("slurm", "conf", "nodename", KEY),
            "nodename has its own place: machines",
        ),
        (
            {"slurm": {"conf": {"Prolog": "/a", "prolog": "/b"}}},
            ("slurm", "conf", "prolog", KEY),
            "prolog is already there as Prolog; slurm.conf does not tell upper case from lower",
        ),
    ],
)
def test_a_broken_rule_says_where_and_what_to_do(sections: dict[str, Any], where: Where, message: str) -> None:
    assert broken(**sections) == {where: message}


def test_without_local_every_machine_needs_its_own_address() -> None:
    machines = {
        "a": {"address": "gpu.example"},
        "b": {"address": "GPU.example", "port": 22},
        "c": {"address": "gpu.example", "port": 2222},
        "d": {},
    }
    assert broken(local=None, machines=machines) == {
        ("machines", "b", "address"): "b has the same address and port as a: GPU.example port 22",
        ("machines", "d"): "d needs an address, because the file has no local section",
    }


def test_with_local_no_machine_says_how_it_is_reached() -> None:
    own = {"address": "192.0.2.1", "port": 22, "user": "root", "key": "/k", "host_key": PUBLIC_KEY}
    assert broken(machines={"a": own}) == {
        ("machines", "a", field): f"with local, Corral makes a itself; remove {field}" for field in own
    }


def test_two_names_with_the_same_derived_uid_are_told_to_set_one() -> None:
    seen: dict[int, str] = {}
    for number in range(20_001):
        name = f"u{number}"
        uid = ClusterSpec.model_validate({"name": "lab", "machines": {"a": {}}, "users": {name: {}}}).uid(name)
        if uid in seen:
            break
        seen[uid] = name
    message = f"{name} and {seen[uid]} have the same uid {uid}; set uid to tell them apart"
    assert broken(users={seen[uid]: {}, name: {}}) == {("users", name, KEY): message}


@pytest.mark.parametrize("name", ["root", "slurm", "munge", "slurmrest", "mysql", "nobody", "systemd-x", "video"])
def test_a_name_of_the_system_is_no_user_name(name: str) -> None:
    message = f"'{name}' belongs to the system; give the user another name"
    assert broken(users={name: {}}) == {("users", name, KEY): message}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "AAAA",
        "ssh-ed25519",
        f"ssh-rsa {_BLOB}",
        f"ssh-ed25519 {_BLOB[:-8]}!",
        f"{PUBLIC_KEY}\n{PUBLIC_KEY}",
    ],
)
def test_what_is_not_one_public_key_is_refused(text: str) -> None:
    (message,) = broken(users={"ada": {"ssh_keys": [text]}}).values()
    assert message.startswith("this is not a public key; write one line such as 'ssh-ed25519 AAAA… comment'")


def test_a_private_key_is_refused_wherever_it_is_pasted_and_never_repeated() -> None:
    found = broken(
        local=None,
        ssh={"key": PRIVATE_KEY},
        machines={"a": {"address": "192.0.2.1", "key": PRIVATE_KEY, "host_key": PRIVATE_KEY}},
        users={"ada": {"ssh_keys": [PUBLIC_KEY, PRIVATE_KEY]}},
    )
    assert set(found) == {
        ("ssh", "key"),
        ("machines", "a", "key"),
        ("machines", "a", "host_key"),
        ("users", "ada", "ssh_keys", 1),
    }
    assert all("private key" in message and SECRET not in message for message in found.values())


def test_the_machine_that_corral_runs_on_needs_no_address_when_it_is_alone() -> None:
    assert broken(local=None, machines={"box": {"connection": "local"}}) == {}


@pytest.mark.parametrize(
    ("machines", "where", "message"),
    [
        (
            {"box": {"connection": "local"}, "node1": {"address": "192.0.2.1"}},
            ("machines", "box"),
            "box needs an address at which the other machines reach it",
        ),
        (
            {
                "a": {"connection": "local", "address": "192.0.2.1"},
                "b": {"connection": "local", "address": "192.0.2.2"},
            },
            ("machines", "b", "connection"),
            "a is the machine that Corral runs on already",
        ),
        (
            {"box": {"connection": "local", "port": 2222}},
            ("machines", "box", "port"),
            "with connection: local there is no SSH to box; remove port",
        ),
    ],
)
def test_a_wrong_connection_is_explained(machines: dict[str, Any], where: Where, message: str) -> None:
    assert broken(local=None, machines=machines)[where] == message
