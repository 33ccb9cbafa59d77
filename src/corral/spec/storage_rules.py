"""Rules about shared storage: which of its three kinds is meant, and whether the paths can be what they say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from corral.spec.document import Where
from corral.spec.model import ClusterSpec, SharedStorageSpec
from corral.spec.reserved import MOUNTS
from corral.spec.suggest import did_you_mean, some

LOCAL_MOUNT = "/shared"
"""Where the machines of a local cluster share a folder of the computer that they run on."""
_SHARED: Where = ("storage", "shared")


def storage_rules(spec: ClusterSpec) -> Iterator[tuple[Where, str]]:
    if spec.storage is None:
        return
    shared = spec.storage.shared
    if spec.local is not None:
        yield from _of_local_machines(shared)
        return
    yield from _kind(shared)
    yield from _paths(shared)
    if shared.server is not None and shared.server not in spec.machines:
        nearest = did_you_mean(shared.server, spec.machines)
        outside = f"a server outside the cluster goes into nfs: {shared.server}:{shared.path or '/path'}"
        message = f"there is no machine '{shared.server}'; machines: {some(spec.machines)}{nearest or f'; {outside}'}"
        yield (*_SHARED, "server"), message


def _of_local_machines(shared: SharedStorageSpec) -> Iterator[tuple[Where, str]]:
    for key in ("server", "path", "nfs"):
        if getattr(shared, key) is not None:
            yield (*_SHARED, key), f"with local, the machines share {LOCAL_MOUNT} already; remove {key}"
    if shared.mount != LOCAL_MOUNT:
        yield (*_SHARED, "mount"), f"with local, the machines share {LOCAL_MOUNT}; use that"


def _kind(shared: SharedStorageSpec) -> Iterator[tuple[Where, str]]:
    given = [key for key in ("server", "path") if getattr(shared, key) is not None]
    if shared.nfs is not None and given:
        yield (
            (*_SHARED, "nfs"),
            f"storage.shared has nfs, for a server outside the cluster, and {given[0]}, for a machine of it; keep one",
        )
    elif len(given) == 1:
        lacking = "path" if given == ["server"] else "server"
        message = f"storage.shared has {given[0]} but not {lacking}; give both, or neither for a mount that exists"
        yield _SHARED, message


def _paths(shared: SharedStorageSpec) -> Iterator[tuple[Where, str]]:
    served = shared.server is not None or shared.nfs is not None
    if shared.mount in MOUNTS or (served and shared.mount == "/home"):
        message = f"a mount on {shared.mount} would hide the system's own files; use another place"
        yield (*_SHARED, "mount"), message
    if shared.path is None:
        return
    if shared.path in MOUNTS:
        yield (*_SHARED, "path"), f"{shared.path} has the system's own files, which nobody else should see"
    path, mount = PurePosixPath(shared.path), PurePosixPath(shared.mount)
    if path in mount.parents or mount in path.parents:
        yield (*_SHARED, "path"), f"{path} and the mount {mount} lie one inside the other; use separate places"
