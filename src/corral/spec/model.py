"""The cluster file's models: everything a user may write, with its default.

Rules that need more than one field (one head, known names, no two equal addresses) are in `rules.py`;
turning YAML into these models, with positions for every mistake, is in `load.py`.
"""

from __future__ import annotations

import zlib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from corral.spec.values import (
    AbsolutePath,
    Address,
    Connection,
    DriverBranch,
    EnvironmentPath,
    Flag,
    GpuType,
    HostName,
    JumpHosts,
    Latency,
    LinkRate,
    MachineNames,
    MemoryBytes,
    NfsExport,
    Release,
    Role,
    SlurmKey,
    SlurmLine,
    SlurmName,
    SlurmTime,
    UserName,
    Whole,
)

__all__ = [
    "ClusterSpec",
    "SshSpec",
    "MachineSpec",
    "GpusSpec",
    "PartitionSpec",
    "StorageSpec",
    "SharedStorageSpec",
    "UserSpec",
    "LimitsSpec",
    "SlurmSpec",
    "LocalSpec",
    "CheckSpec",
    "Role",
    "Release",
]


class _Model(BaseModel):
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        # `max_time: 60` and `type: 5090` are numbers to YAML and names to us.
        coerce_numbers_to_str=True,
    )


class SshSpec(_Model):
    """How every machine is reached unless it says otherwise."""

    user: UserName | None = None
    port: Whole | None = Field(default=None, ge=1, le=65535)
    key: Path | None = None
    jump: JumpHosts | None = None


class GpusSpec(_Model):
    """The GPUs of a machine, where what is found must be overridden."""

    type: GpuType
    count: Whole = Field(ge=0, le=64)


class MachineSpec(_Model):
    """One machine. Whatever is left out is found out on the machine itself."""

    address: Address | None = None
    connection: Connection = "ssh"
    """`local` is the very machine that Corral runs on: no SSH."""
    roles: tuple[Role, ...] = ()
    user: UserName | None = None
    port: Whole | None = Field(default=None, ge=1, le=65535)
    key: Path | None = None
    jump: JumpHosts | None = None
    host_key: str | None = None
    cpus: Whole | None = Field(default=None, ge=1)
    memory: MemoryBytes | None = None
    gpus: GpusSpec | None = None
    features: tuple[SlurmName, ...] = ()


class PartitionSpec(_Model):
    """A Slurm partition: which machines, for how long, and how urgent."""

    machines: MachineNames = "all"
    default: Flag = False
    max_time: SlurmTime = "infinite"
    default_time: SlurmTime | None = None
    priority: Whole = Field(default=1, ge=0, le=65533)


class SharedStorageSpec(_Model):
    """One directory that every machine sees: served by one of them, by an NFS server outside, or there already."""

    mount: AbsolutePath = "/shared"
    # An address rather than a name, so that a server outside the cluster is told where it belongs.
    server: Address | None = None
    path: AbsolutePath | None = None
    nfs: NfsExport | None = None

    @property
    def homes(self) -> str:
        """The folder of the users' homes."""
        return self.mount if self.mount.endswith("/home") else f"{self.mount}/home"

    def is_mounted_on(self, machine: str) -> bool:
        """Whether the machine sees it by a mount, and not as a folder of its own."""
        return machine != self.server or self.path != self.mount


class StorageSpec(_Model):
    """Storage that the cluster shares."""

    shared: SharedStorageSpec = SharedStorageSpec()


class LimitsSpec(_Model):
    """What one user may hold at a time; no value means no limit."""

    gpus: Whole | None = Field(default=None, ge=0)
    jobs: Whole | None = Field(default=None, ge=0)


class UserSpec(_Model):
    """A person: the same account with the same ids on every machine and in Slurm."""

    uid: Whole | None = Field(default=None, ge=1000, le=59999)
    ssh_keys: tuple[str, ...] = ()
    account: SlurmName = "research"
    shares: Whole = Field(default=1, ge=1)
    limits: LimitsSpec = LimitsSpec()


class SlurmSpec(_Model):
    """Slurm itself: lines for slurm.conf that replace or add to Corral's own."""

    conf: dict[SlurmKey, SlurmLine | Whole] = Field(default_factory=dict)


class LocalSpec(_Model):
    """The machines are made on this very computer, as containers that boot a real system."""

    release: Release = "trixie"
    gpus: Whole = Field(default=1, ge=0, le=16)
    gpu_type: GpuType = "rtx5090"
    link: LinkRate | None = None


class GpuSpec(_Model):
    """NVIDIA's driver, where Corral is to install it."""

    driver: DriverBranch | None = None
    """The branch, such as "580"; without it the driver is the owner's business."""


class CheckSpec(_Model):
    """What `corral check` takes for good enough, where the machines' own facts do not say it well."""

    env: EnvironmentPath | None = None
    """Where torch is, for the rungs that need it."""
    bandwidth: LinkRate | None = None
    latency: Latency | None = None
    allreduce: Whole | None = Field(default=None, ge=1, le=100)
    """Percent of what TCP alone carries."""


class ClusterSpec(_Model):
    """The whole cluster file."""

    name: SlurmName
    machines: dict[HostName, MachineSpec] = Field(min_length=1)
    local: LocalSpec | None = None
    ssh: SshSpec = SshSpec()
    partitions: dict[SlurmName, PartitionSpec] = Field(default_factory=dict)
    storage: StorageSpec | None = None
    gpu: GpuSpec = GpuSpec()
    users: dict[UserName, UserSpec] = Field(default_factory=dict)
    slurm: SlurmSpec = SlurmSpec()
    check: CheckSpec = CheckSpec()

    @property
    def head(self) -> str:
        """The machine that runs the controllers: the one that says so, or else the first."""
        for name, machine in self.machines.items():
            if "head" in machine.roles:
                return name
        return next(iter(self.machines))

    def roles(self, name: str) -> frozenset[Role]:
        """A machine's roles: its own, or compute; the implied head does everything."""
        roles = self.machines[name].roles
        if not roles:
            return frozenset(("head", "login", "compute") if name == self.head else ("compute",))
        return frozenset(roles)

    def uid(self, user: str) -> int:
        """The user's id: given, or derived from the name alone so that it never depends on file order."""
        given = self.users[user].uid
        return 20_000 + zlib.crc32(user.encode()) % 20_000 if given is None else given

    def home(self, user: str) -> str:
        """Where the user's home is on every machine: shared if anything is."""
        return f"{self.storage.shared.homes if self.storage else '/home'}/{user}"

    @property
    def jobs_folder(self) -> str | None:
        """Where people's jobs have their folders: where all machines see them, or nowhere."""
        if self.storage is not None:
            return f"{self.storage.shared.mount}/jobs"
        return "/var/lib/corral/jobs" if len(self.machines) == 1 else None

    @property
    def compute_machines(self) -> tuple[str, ...]:
        return tuple(name for name in self.machines if "compute" in self.roles(name))

    @property
    def all_partitions(self) -> dict[str, PartitionSpec]:
        """The file's partitions, or `main` with every compute machine; exactly one is the default."""
        partitions = self.partitions or {"main": PartitionSpec()}
        if any(partition.default for partition in partitions.values()):
            return dict(partitions)
        first = next(iter(partitions))
        return {**partitions, first: partitions[first].model_copy(update={"default": True})}
