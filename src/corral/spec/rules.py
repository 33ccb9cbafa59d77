"""Rules that need more than one field of the cluster file, or more than a pattern.

Each rule yields the place and the message of whatever breaks it; none stops at the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from corral.spec.access_rules import access_rules
from corral.spec.document import KEY, Where
from corral.spec.model import ClusterSpec
from corral.spec.reserved import MACHINE_NAMES, PARTITION_NAMES, SLURM_KEYS
from corral.spec.storage_rules import storage_rules
from corral.spec.suggest import did_you_mean, some

Broken = tuple[Where, str]

MOST_LOCAL_MACHINES = 200
_OWN_CONNECTION = ("address", "port", "user", "key", "jump", "host_key")


def broken_rules(spec: ClusterSpec) -> list[Broken]:
    """Everything that is wrong with a file whose every field is right on its own."""
    return [broken for rule in _RULES for broken in rule(spec)]


def _machine_names(spec: ClusterSpec) -> Iterator[Broken]:
    for name in spec.machines:
        if name in MACHINE_NAMES:
            yield ("machines", name, KEY), f"'{name}' has a meaning of its own; give the machine another name"


def _one_head(spec: ClusterSpec) -> Iterator[Broken]:
    heads = [name for name, machine in spec.machines.items() if "head" in machine.roles]
    for name in heads[1:]:
        yield ("machines", name, "roles"), f"only one machine can be the head, and {heads[0]} is already"
    if "head" not in spec.roles(spec.head):
        yield ("machines",), "no machine is the head; add head to the roles of one of them"


def _some_compute(spec: ClusterSpec) -> Iterator[Broken]:
    if not spec.compute_machines:
        yield ("machines",), "no machine runs jobs; add compute to the roles of at least one"


def _connections(spec: ClusterSpec) -> Iterator[Broken]:
    if spec.local is not None:
        for name, machine in spec.machines.items():
            for field in _OWN_CONNECTION:
                if getattr(machine, field) is not None:
                    yield ("machines", name, field), f"with local, Corral makes {name} itself; remove {field}"
            if machine.connection == "local":
                yield ("machines", name, "connection"), f"with local, Corral makes {name} itself; remove connection"
        if len(spec.machines) > MOST_LOCAL_MACHINES:
            yield ("machines",), f"{len(spec.machines)} local machines; at most {MOST_LOCAL_MACHINES} fit"
        return
    yield from _this_machine(spec)
    taken: dict[tuple[str, int], str] = {}
    for name, machine in spec.machines.items():
        if machine.address is None:
            if machine.connection == "ssh":
                yield ("machines", name), f"{name} needs an address, because the file has no local section"
            elif len(spec.machines) > 1:
                yield ("machines", name), f"{name} needs an address at which the other machines reach it"
            continue
        end = (machine.address.lower(), machine.port or spec.ssh.port or 22)
        other = taken.setdefault(end, name)
        if other != name:
            message = f"{name} has the same address and port as {other}: {machine.address} port {end[1]}"
            yield ("machines", name, "address"), message


def _this_machine(spec: ClusterSpec) -> Iterator[Broken]:
    """`connection: local` is the machine that Corral runs on: there is one, and it is not reached by SSH."""
    here = [name for name, machine in spec.machines.items() if machine.connection == "local"]
    for name in here[1:]:
        yield ("machines", name, "connection"), f"{here[0]} is the machine that Corral runs on already"
    for name in here:
        for field in ("port", "user", "key", "host_key"):
            if getattr(spec.machines[name], field) is not None:
                yield ("machines", name, field), f"with connection: local there is no SSH to {name}; remove {field}"


def _partition_machines(spec: ClusterSpec) -> Iterator[Broken]:
    reached: set[str] = set()
    compute = spec.compute_machines
    for partition_name, partition in spec.all_partitions.items():
        names = compute if partition.machines == "all" else partition.machines
        reached.update(names)
        where: Where = ("partitions", partition_name, "machines")
        if partition.machines == ():
            yield where, f"{partition_name} has no machines; name some, or write all"
        for index, name in enumerate(names):
            if name not in spec.machines:
                message = f"there is no machine '{name}'; machines: {some(compute)}{did_you_mean(name, compute)}"
                yield (*where, index), message
            elif name not in compute:
                message = f"{name} runs no jobs; add compute to its roles, or take it out of {partition_name}"
                yield (*where, index), message
    # A misspelt name is one mistake, not also a machine that nobody named.
    for name in compute if reached <= spec.machines.keys() else ():
        if name not in reached:
            yield ("machines", name), f"{name} is in no partition, so it can never run a job; add it to one"


def _partitions(spec: ClusterSpec) -> Iterator[Broken]:
    defaults = [name for name, partition in spec.partitions.items() if partition.default]
    for name in defaults[1:]:
        yield (
            ("partitions", name, "default"),
            f"only one partition is the default, and {defaults[0]} is already",
        )
    for name, partition in spec.partitions.items():
        if name in PARTITION_NAMES:
            yield (
                ("partitions", name, KEY),
                f"'{name}' means something to Slurm; give the partition another name",
            )
        if partition.default_time and _minutes(partition.default_time) > _minutes(partition.max_time):
            message = f"default_time is longer than max_time, which is {partition.max_time}"
            yield ("partitions", name, "default_time"), message


def _minutes(time: str) -> float:
    if time == "infinite":
        return float("inf")
    if time.isdigit():
        return float(time)
    days, _, clock = time.rpartition("-")
    hours, minutes, seconds = (int(part) for part in clock.split(":"))
    return int(days or 0) * 1440 + hours * 60 + minutes + seconds / 60


def _slurm_conf(spec: ClusterSpec) -> Iterator[Broken]:
    seen: dict[str, str] = {}
    for key in spec.slurm.conf:
        where = ("slurm", "conf", key, KEY)
        if key.lower() in SLURM_KEYS:
            yield where, f"{key} has its own place: {SLURM_KEYS[key.lower()]}"
        first = seen.setdefault(key.lower(), key)
        if first != key:
            yield where, f"{key} is already there as {first}; slurm.conf does not tell upper case from lower"


_RULES: tuple[Callable[[ClusterSpec], Iterator[Broken]], ...] = (
    _machine_names,
    _one_head,
    _some_compute,
    _connections,
    _partition_machines,
    _partitions,
    storage_rules,
    _slurm_conf,
    access_rules,
)
