"""Shared storage as the steps see it: who serves it, who mounts it, and how a machine tells that it is there."""

from __future__ import annotations

from dataclasses import dataclass

from corral.deploy.cluster import Cluster, Node
from corral.spec.model import SharedStorageSpec


@dataclass(frozen=True, slots=True)
class Storage:
    """The shared folder from one machine's side."""

    shared: SharedStorageSpec
    keeper: str
    """The machine that makes the folders in it: the one that serves it, or else the head."""
    source: str
    """What this machine mounts; empty where the folder is there already."""
    clients: tuple[str, ...]
    """Addresses that this machine serves."""
    machine: str

    @property
    def mount(self) -> str:
        return self.shared.mount

    @property
    def is_server(self) -> bool:
        return self.machine == self.shared.server

    @property
    def is_keeper(self) -> bool:
        return self.machine == self.keeper

    @property
    def marker(self) -> str:
        """A file that is there when the folder is; whoever sees it sees the same folder as the keeper."""
        return f"{self.mount}/.corral"

    @property
    def unit(self) -> str:
        """The mount's unit, which systemd names after the path; empty where there is nothing to mount."""
        return self.mount.lstrip("/").replace("-", r"\x2d").replace("/", "-") + ".mount" if self.source else ""


def storage_of(cluster: Cluster, node: Node) -> Storage | None:
    """The machine's view of the shared folder, if the cluster has one."""
    if cluster.spec.storage is None:
        return None
    shared = cluster.spec.storage.shared
    source = shared.nfs or ""
    clients: tuple[str, ...] = ()
    if shared.server == node.name:
        source = "" if shared.path == shared.mount else shared.path or ""
        clients = tuple(other.address for other in cluster.nodes.values() if other.name != node.name)
    elif shared.server is not None:
        source = f"{_bracketed(cluster.address(shared.server))}:{shared.path}"
    return Storage(shared, shared.server or cluster.spec.head, source, clients, node.name)


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address
