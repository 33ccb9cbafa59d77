"""Where the operator's machine keeps what it knows of each cluster."""

from __future__ import annotations

import os
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from corral.errors import InputError
from corral.hosts.known_hosts import KnownHosts
from corral.spec.load import load_cluster
from corral.spec.model import ClusterSpec

CLUSTER_FILE = "cluster.yaml"


def state_root() -> Path:
    """$CORRAL_STATE, else /var/lib/corral for root and the XDG state folder for everybody else."""
    if "CORRAL_STATE" in os.environ:
        return Path(os.environ["CORRAL_STATE"])
    if os.geteuid() == 0:
        return Path("/var/lib/corral")
    return Path(os.environ.get("XDG_STATE_HOME", Path.home() / ".local/state")) / "corral"


def cache_root() -> Path:
    """$CORRAL_CACHE, else /var/cache/corral: what can be made again, such as images."""
    return Path(os.environ.get("CORRAL_CACHE", "/var/cache/corral"))


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The folder of one cluster on the operator's machine; its secrets are readable by the owner only."""

    name: str

    @property
    def folder(self) -> Path:
        return state_root() / "clusters" / self.name

    @property
    def cluster_file(self) -> Path:
        """The file of a cluster made by `up --local N`, which the user never wrote."""
        return self.folder / CLUSTER_FILE

    @property
    def local_folder(self) -> Path:
        return self.folder / "local"

    @property
    def known_hosts(self) -> KnownHosts:
        """The pinned host keys of the cluster's machines."""
        return KnownHosts(self.folder / "known_hosts")

    def make(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def secret(self, name: str) -> bytes | None:
        path = self.folder / name
        return path.read_bytes() if path.exists() else None

    def keep_secret(self, name: str, value: bytes) -> None:
        """Write it whole or not at all, readable by the owner only."""
        self.make()
        self.write(self.folder / name, value)

    def write(self, path: Path, content: bytes) -> None:
        new = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        new.touch(mode=0o600)
        new.write_bytes(content)
        new.rename(path)


def replace_text(path: Path, text: str) -> None:
    """Replace a file of the user's, whole or not at all; links, mode and line ends stay."""
    path = path.resolve()
    new = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    new.touch(mode=0o600)
    new.write_bytes(text.encode())
    shutil.copystat(path, new)
    owner = path.stat()
    os.chown(new, owner.st_uid, owner.st_gid)
    new.replace(path)


def find_cluster(wanted: str | None) -> ClusterSpec:
    """The cluster that a command means."""
    return load_cluster(find_cluster_file(wanted))


def find_cluster_file(wanted: str | None) -> Path:
    """The file of the cluster that a command means: a file, a name, ./cluster.yaml, or the only one there is."""
    if wanted is not None and ("/" in wanted or wanted.endswith((".yaml", ".yml")) or Path(wanted).is_file()):
        return Path(wanted)
    known = known_clusters()
    if wanted is not None:
        if wanted not in known:
            raise InputError(f"there is no cluster '{wanted}'; {_choices(known)}")
        return ClusterState(wanted).cluster_file
    if Path(CLUSTER_FILE).is_file():
        return Path(CLUSTER_FILE)
    if len(known) == 1:
        return ClusterState(known[0]).cluster_file
    problem = "which cluster? There are several" if known else f"there is no {CLUSTER_FILE} here and no local cluster"
    raise InputError(f"{problem}; {_choices(known)}")


def known_clusters() -> list[str]:
    """Clusters whose file Corral keeps itself."""
    return sorted(path.parent.name for path in (state_root() / "clusters").glob(f"*/{CLUSTER_FILE}"))


def _choices(known: list[str]) -> str:
    if known:
        return f"choose one with --cluster: {', '.join(known)}"
    return "make one with: corral up --local 3, or name a file with --cluster FILE"
