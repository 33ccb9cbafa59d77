"""Bare machines to measure on: booted, with Slurm's packages, without any configuration."""

from __future__ import annotations

import asyncio
from pathlib import Path

from corral.deploy.cluster import Cluster
from corral.deploy.events import Event
from corral.hosts.machine import Machine
from corral.spec.dump import dump_cluster
from corral.spec.local import local_cluster
from corral.spec.model import ClusterSpec
from corral.workflows.down import down_cluster
from corral.workflows.machines import current_machines, local_machines, ssh_to
from corral.workflows.session import find_out, open_session
from corral.workflows.state import ClusterState
from corral.workflows.up import PlanReport, plan_cluster

_BOOT_TIMEOUT_S = 120.0


class Bed:
    """One local cluster of a given size, made and taken away through Corral's own provider."""

    def __init__(self, name: str, hosts: int, release: str) -> None:
        self.hosts = hosts
        # Without shared storage, which the playbook does not know.
        local = local_cluster(name, hosts, {"release": release})
        self.spec: ClusterSpec = local.model_copy(update={"storage": None})

    def make_bare(self) -> None:
        """Leave behind only freshly booted machines, whatever was there before."""
        self.remove()
        state = ClusterState(self.spec.name)
        state.make()
        # With its file kept, `corral up -c NAME` finds the cluster as if it had been made by `up --local`.
        state.write(state.cluster_file, dump_cluster(self.spec).encode())
        asyncio.run(self._boot())

    def remove(self) -> None:
        """Take machines and state away; safe to repeat."""
        asyncio.run(down_cluster(self.spec, _quiet))

    def machines(self) -> list[Machine]:
        return current_machines(self.spec)

    def on_head(self, *command: str) -> list[str]:
        """The SSH command line that runs something on the head: the same one whichever tool deployed."""
        return ssh_to(self.spec, self.spec.head, command)

    def cluster(self) -> Cluster:
        """The cluster as Corral's steps see it: file, facts and secrets."""
        return asyncio.run(self._find_out())

    def plan(self) -> PlanReport:
        """What Corral would still change."""
        return asyncio.run(plan_cluster(self.spec, _quiet))

    @property
    def network_namespace(self) -> Path:
        namespace = self.machines()[0].network_namespace
        assert namespace is not None
        return namespace

    async def _boot(self) -> None:
        machines = await local_machines(self.spec).up(list(self.spec.machines), lambda _: None)
        async with open_session(self.spec, machines, _quiet) as session:
            # SSH answers before systemd is done: what is still starting would be charged to the deployment.
            wait = "systemctl is-system-running --wait"
            await asyncio.gather(*(host.run(wait, timeout_s=_BOOT_TIMEOUT_S) for host in session.hosts.values()))

    async def _find_out(self) -> Cluster:
        async with open_session(self.spec, self.machines(), _quiet) as session:
            return await find_out(session, _quiet)


def _quiet(_event: Event) -> None:
    """Nobody watches what happens outside the measured commands."""
