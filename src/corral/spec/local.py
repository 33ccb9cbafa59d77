"""The cluster that `corral up --local N` makes: no file needed, and one can be written from it."""

from __future__ import annotations

from collections.abc import Mapping

from corral.errors import InputError
from corral.spec.load import check_cluster
from corral.spec.model import ClusterSpec


def local_cluster(name: str, count: int, local: Mapping[str, object]) -> ClusterSpec:
    """A cluster of machines on this computer: node0 is its head, all of them see one directory, one person uses it."""
    spec, broken = check_cluster(
        {
            "name": name,
            "local": dict(local),
            "machines": {f"node{number}": {} for number in range(count)},
            "storage": {"shared": {"mount": "/shared"}},
            # Somebody to run jobs as: root should not.
            "users": {"researcher": {}},
        }
    )
    if broken or spec is None:
        raise InputError("; ".join(message for _, message in broken))
    return spec
