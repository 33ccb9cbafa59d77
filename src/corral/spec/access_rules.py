"""Rules about who gets in: user names, ids and keys. Nothing that is refused as a key is ever quoted."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from corral.spec.document import KEY, Where
from corral.spec.model import ClusterSpec
from corral.spec.reserved import USER_NAMES, USER_PREFIXES

_KEY_KIND = re.compile(r"(sk-)?(ssh|ecdsa)-[a-z0-9@.-]+")


def access_rules(spec: ClusterSpec) -> Iterator[tuple[Where, str]]:
    yield from _user_names(spec)
    yield from _user_ids(spec)
    yield from _keys(spec)


def _user_names(spec: ClusterSpec) -> Iterator[tuple[Where, str]]:
    for name in spec.users:
        if name in USER_NAMES or name.startswith(USER_PREFIXES):
            yield ("users", name, KEY), f"'{name}' belongs to the system; give the user another name"


def _user_ids(spec: ClusterSpec) -> Iterator[tuple[Where, str]]:
    taken: dict[int, str] = {}
    for name, user in spec.users.items():
        uid = spec.uid(name)
        other = taken.setdefault(uid, name)
        if other != name:
            where: Where = ("users", name, KEY) if user.uid is None else ("users", name, "uid")
            yield where, f"{name} and {other} have the same uid {uid}; set uid to tell them apart"


def _keys(spec: ClusterSpec) -> Iterator[tuple[Where, str]]:
    for name, user in spec.users.items():
        for index, key in enumerate(user.ssh_keys):
            if problem := _public_key_problem(key):
                yield ("users", name, "ssh_keys", index), problem
    for name, machine in spec.machines.items():
        if machine.host_key is not None and (problem := _public_key_problem(machine.host_key)):
            yield ("machines", name, "host_key"), problem
        if machine.key is not None and _is_private(str(machine.key)):
            yield (
                ("machines", name, "key"),
                "this is a private key itself; write the path of its file instead",
            )
    if spec.ssh.key is not None and _is_private(str(spec.ssh.key)):
        yield ("ssh", "key"), "this is a private key itself; write the path of its file instead"


def _public_key_problem(text: str) -> str | None:
    """What keeps the text from being one public key, in words that do not repeat it."""
    if _is_private(text):
        return "this is a private key; write the public one (the .pub file) and replace the pair, it is exposed"
    kind, _, rest = text.partition(" ")
    blob = rest.split(" ", 1)[0]
    if not text.isprintable() or not _KEY_KIND.fullmatch(kind) or not _holds(blob, kind):
        return "this is not a public key; write one line such as 'ssh-ed25519 AAAA… comment' from a .pub file"
    return None


def _is_private(text: str) -> bool:
    return "PRIVATE KEY" in text.upper()


def _holds(blob: str, kind: str) -> bool:
    """Whether the key's data is whole and of the kind that its first word promises."""
    try:
        data = base64.b64decode(blob, validate=True)
    except (binascii.Error, ValueError):
        return False
    return data[4 : 4 + int.from_bytes(data[:4], "big")] == kind.encode()
