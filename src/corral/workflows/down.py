"""`down`: the end of a cluster. Local machines vanish; real ones keep their data, unless they are purged."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Collection
from dataclasses import asdict, dataclass

from corral.deploy.cluster import Cluster
from corral.deploy.events import Emit, Event
from corral.deploy.plan import Graph
from corral.deploy.purge import CANCEL_JOBS, purge_script, shared_folder_left_script, unmount_script
from corral.deploy.resources.service import Service
from corral.deploy.storage import storage_of
from corral.errors import HostError
from corral.hosts.base import Host
from corral.spec.model import ClusterSpec
from corral.workflows.lock import hold_here, hold_on
from corral.workflows.machines import current_machines, local_machines
from corral.workflows.operator import NOBODY, Operator
from corral.workflows.session import Session, find_out, graph_of, open_session
from corral.workflows.state import ClusterState

# Nodes first, so that the controller does not see them die.
_ORDER = ("corral-keeper", "slurmd", "slurmrestd", "slurmctld", "slurmdbd", "mariadb", "munge")
_DATA = (
    "/var/lib/mysql",
    "/var/lib/slurm",
    "/var/log/slurm",
    "/etc/slurm",
    "/etc/munge",
    "/opt/corral",
    "packages and accounts",
)
_PURGE_TIMEOUT_S = 600.0
_UNMOUNT_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class DownReport:
    """What was ended, what stays, and what could not be reached."""

    cluster: str
    stopped: tuple[str, ...]
    kept: tuple[str, ...]
    missing: dict[str, str]
    purged: tuple[str, ...] = ()
    """Machines from which everything that Corral brought was removed."""
    shared: tuple[str, ...] = ()
    """What machines still do for the shared folder, each as `machine: words`."""

    def to_json(self) -> dict[str, object]:
        return asdict(self)


async def down_cluster(
    spec: ClusterSpec, emit: Emit, operator: Operator = NOBODY, *, purge: bool = False
) -> DownReport:
    """End the cluster; safe to repeat, and safe after an interrupted `up`. `purge` also removes what Corral brought."""
    state = ClusterState(spec.name)
    with hold_here(state.folder):
        if spec.local is not None:
            await local_machines(spec).down()
            shutil.rmtree(state.folder)
            return DownReport(spec.name, tuple(spec.machines), (), {})
        async with open_session(spec, current_machines(spec), emit, operator) as session, hold_on(session.head):
            cluster = await find_out(session, emit)
            graph = graph_of(cluster)
            if purge:
                await session.head.run(CANCEL_JOBS, timeout_s=60)
            stopped, running = await stop_daemons(session, graph, tuple(session.hosts), emit)
            if not purge:
                shared = await _shared_folder_left(session, cluster)
                return DownReport(spec.name, tuple(stopped), (*_DATA, *running), session.missing, shared=tuple(shared))
            kept = await _purge_all(session, graph, emit)
            # With a machine out of reach the cluster is not gone, and the keys still open what is left of it.
            if not session.missing:
                shutil.rmtree(state.folder)
            return DownReport(spec.name, tuple(stopped), tuple(kept), session.missing, tuple(session.hosts))


async def stop_daemons(
    session: Session, graph: Graph, names: Collection[str], emit: Emit
) -> tuple[list[str], list[str]]:
    """Stop and disable the daemons of these machines, each as `machine: daemon`; files and data stay.

    Returns those stopped, and those left running because others need them.
    """
    services: dict[str, dict[str, Service]] = {name: {} for name in names}
    for (name, _), step in graph.steps.items():
        if isinstance(step, Service) and name in services:
            services[name][step.name] = step
    stopped: list[str] = []
    running: list[str] = []
    for unit in _ORDER:
        affected = [(session.hosts[name], own[unit]) for name, own in services.items() if unit in own]
        answers = await asyncio.gather(*(_stop(host, service, emit) for host, service in affected))
        for (host, _), was_stopped in zip(affected, answers, strict=True):
            (stopped if was_stopped else running).append(f"{host.name}: {unit}")
    return stopped, [f"{daemon}, which others use too" for daemon in running]


async def _stop(host: Host, service: Service, emit: Emit) -> bool:
    emit(Event("started", host.name, service.name, f"stop {service.name}"))
    done = await host.run(service.stop())
    if not done.ok:
        raise HostError(host.name, f"{service.name} could not be stopped: {done.last_words()}")
    emit(Event("changed", host.name, service.name))
    return done.stdout.strip() != "shared"


async def _shared_folder_left(session: Session, cluster: Cluster) -> list[str]:
    """People may work in the folder without Slurm, so it stays; returns who serves and mounts it."""

    async def ask(host: Host) -> list[str]:
        storage = storage_of(cluster, cluster.nodes[host.name])
        if storage is None:
            return []
        done = await host.run(shared_folder_left_script(storage))
        return [f"{host.name}: {line}" for line in done.stdout.splitlines()]

    answers = await asyncio.gather(*(ask(host) for host in session.hosts.values()))
    return [line for lines in answers for line in lines]


async def _purge_all(session: Session, graph: Graph, emit: Emit) -> list[str]:
    """Remove what Corral brought from every machine at once; returns what stays."""
    steps = {name: [step for (host, _), step in graph.steps.items() if host == name] for name in session.hosts}

    async def unmount(host: Host) -> list[str]:
        done = await host.run(unmount_script(steps[host.name]), timeout_s=_UNMOUNT_TIMEOUT_S)
        return [f"{host.name}: {line}" for line in done.stdout.splitlines()]

    async def purge(host: Host) -> list[str]:
        emit(Event("started", host.name, "purge", "remove what Corral brought"))
        done = await host.run(purge_script(steps[host.name], session.spec.users), timeout_s=_PURGE_TIMEOUT_S)
        if not done.ok:
            raise HostError(host.name, f"not everything could be removed: {done.last_words()}")
        emit(Event("changed", host.name, "purge"))
        return [f"{host.name}: {line}" for line in done.stdout.splitlines()]

    hosts = session.hosts.values()
    in_use = await asyncio.gather(*(unmount(host) for host in hosts))
    answers = await asyncio.gather(*(purge(host) for host in hosts))
    return [line for lines in (*in_use, *answers) for line in lines]
