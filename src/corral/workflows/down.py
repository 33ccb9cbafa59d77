"""`down`: the end of a cluster. Local machines vanish; real ones keep their data."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass

from corral.deploy.events import Emit, Event
from corral.deploy.resources.service import Service
from corral.errors import HostError
from corral.hosts.base import Host
from corral.spec.model import ClusterSpec
from corral.workflows.lock import hold_here, hold_on
from corral.workflows.machines import current_machines, local_machines
from corral.workflows.operator import NOBODY, Operator
from corral.workflows.session import find_out, graph_of, open_session
from corral.workflows.state import ClusterState

# Nodes first, so that the controller does not see them die.
_ORDER = ("slurmd", "slurmrestd", "slurmctld", "slurmdbd", "mariadb", "munge")


@dataclass(frozen=True, slots=True)
class DownReport:
    """What was ended, what stays, and what could not be reached."""

    cluster: str
    stopped: tuple[str, ...]
    kept: tuple[str, ...]
    missing: dict[str, str]

    def to_json(self) -> dict[str, object]:
        return {
            "cluster": self.cluster,
            "stopped": list(self.stopped),
            "kept": list(self.kept),
            "missing": self.missing,
        }


async def down_cluster(spec: ClusterSpec, emit: Emit, operator: Operator = NOBODY) -> DownReport:
    """End the cluster; safe to repeat, and safe after an interrupted `up`."""
    state = ClusterState(spec.name)
    with hold_here(state.folder):
        if spec.local is not None:
            await local_machines(spec).down()
            shutil.rmtree(state.folder)
            return DownReport(spec.name, tuple(spec.machines), (), {})
        async with open_session(spec, current_machines(spec), emit, operator) as session, hold_on(session.head):
            graph = graph_of(await find_out(session, emit))
            services: dict[str, dict[str, Service]] = {name: {} for name in session.hosts}
            for (host, _), step in graph.steps.items():
                if isinstance(step, Service) and host in services:
                    services[host][step.name] = step
            stopped = []
            for unit in _ORDER:
                running = [(session.hosts[host], own[unit]) for host, own in services.items() if unit in own]
                await asyncio.gather(*(_stop(host, service, emit) for host, service in running))
                stopped += [f"{host.name}: {unit}" for host, _ in running]
            kept = ("/var/lib/mysql", "/var/lib/slurm", "/var/log/slurm", "/etc/slurm", "/etc/munge")
            return DownReport(spec.name, tuple(stopped), kept, session.missing)


async def _stop(host: Host, service: Service, emit: Emit) -> None:
    emit(Event("started", host.name, service.name, f"stop {service.name}"))
    done = await host.run(service.stop())
    if not done.ok:
        raise HostError(host.name, f"{service.name} could not be stopped: {done.last_words()}")
    emit(Event("changed", host.name, service.name))
