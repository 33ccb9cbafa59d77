"""From a cluster file to connected machines with their facts."""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from corral.deploy import facts, survey
from corral.deploy.cluster import Cluster, Secrets, join
from corral.deploy.events import Emit, Event
from corral.deploy.facts import Facts
from corral.deploy.plan import Graph, Key
from corral.deploy.probing import new_marker, probe
from corral.deploy.steps import steps_for
from corral.deploy.steps.inventory import INVENTORY
from corral.deploy.steps.munge import MUNGE_KEY
from corral.deploy.steps.slurmdbd import JWT_KEY
from corral.deploy.survey import Survey
from corral.errors import HostError, Unreachable
from corral.hosts.base import Host
from corral.hosts.machine import Machine
from corral.spec.model import ClusterSpec
from corral.workflows.operator import NOBODY, Operator
from corral.workflows.reach import reach
from corral.workflows.state import ClusterState


@dataclass(frozen=True)
class Session:
    """Open connections to a cluster's machines."""

    spec: ClusterSpec
    machines: dict[str, Machine]
    hosts: dict[str, Host]
    missing: dict[str, str] = field(default_factory=dict)
    """Machines that could not be reached, or were lost since, with the reason."""

    @property
    def head(self) -> Host:
        if self.spec.head not in self.hosts:
            raise Unreachable(self.spec.head, f"{self.missing[self.spec.head]}. Nothing can be done without the head")
        return self.hosts[self.spec.head]


@asynccontextmanager
async def open_session(
    spec: ClusterSpec, machines: Sequence[Machine], emit: Emit, operator: Operator = NOBODY
) -> AsyncIterator[Session]:
    """Connect to every machine at once; those that do not answer are named, not fatal."""
    reached = await reach(machines, ClusterState(spec.name).known_hosts, operator, emit)
    try:
        yield Session(spec, {machine.name: machine for machine in machines}, dict(reached.hosts), reached.missing)
    finally:
        await reached.close()


@dataclass(frozen=True)
class Looked:
    """What one round trip told of every machine that could be reached."""

    facts: dict[str, Facts]
    surveys: dict[str, Survey]


async def find_out(session: Session, emit: Emit) -> Cluster:
    """Join the file with the facts of every machine."""
    return await joined(session, await look(session, emit))


async def joined(session: Session, looked: Looked) -> Cluster:
    """Join the file with facts that were read already."""
    addresses = {name: machine.address for name, machine in session.machines.items()}
    found = looked.facts
    if session.missing:
        remembered = await _remembered(session.head)
        found = {**found, **{name: old for name, old in remembered.items() if name in session.missing}}
    return join(session.spec, addresses, found, await _secrets(session, ClusterState(session.spec.name)))


async def look(session: Session, emit: Emit) -> Looked:
    """Read facts and survey of every machine that can be reached; nothing is changed."""
    looked = Looked({}, {})

    async def ask(host: Host) -> None:
        try:
            looked.facts[host.name], looked.surveys[host.name] = await ask_machine(host)
        except (HostError, KeyError, ValueError) as problem:
            _lose(session, host.name, f"its facts could not be read: {problem}", emit)

    await asyncio.gather(*(ask(host) for host in list(session.hosts.values())))
    return looked


async def ask_machine(host: Host) -> tuple[Facts, Survey]:
    """Facts and survey of one machine, in one round trip."""
    marker = new_marker()
    asked_at = time.time()
    done = await host.run(f"({facts.SCRIPT})\nprintf %s {marker}\n({survey.SCRIPT})", timeout_s=30)
    found, _, surveyed = done.stdout.partition(marker)
    return facts.parse(found), survey.parse(surveyed, asked_at, time.time())


async def _remembered(head: Host) -> dict[str, Facts]:
    done = await head.run(f"cat {INVENTORY} 2>/dev/null || echo '{{}}'", timeout_s=30)
    machines = json.loads(done.stdout).get("machines", {})
    try:
        return {name: facts.from_json(data) for name, data in machines.items()}
    except (KeyError, TypeError):
        # Written by another version of Corral: as good as forgotten.
        return {}


async def _secrets(session: Session, state: ClusterState) -> Secrets:
    """The cluster's keys: kept here, else already on the head, else made now."""
    munge, jwt = state.secret("munge.key"), state.secret("jwt.key")
    if munge is None or jwt is None:
        script = f"for key in {MUNGE_KEY} {JWT_KEY}; do base64 < $key 2>/dev/null | tr -d '\\n'; echo; done"
        on_head = [base64.b64decode(line) for line in (await session.head.run(script)).stdout.split("\n")]
        munge = on_head[0] or secrets.token_bytes(128)
        jwt = on_head[1] or secrets.token_bytes(32)
        state.keep_secret("munge.key", munge)
        state.keep_secret("jwt.key", jwt)
    return Secrets(munge, jwt)


def graph_of(cluster: Cluster) -> Graph:
    """Every step of every machine with known facts."""
    return Graph(cluster.head.name, {name: steps_for(cluster, node) for name, node in cluster.nodes.items()})


async def observe(session: Session, graph: Graph, emit: Emit) -> dict[Key, str]:
    """Probe all steps, one round trip per machine."""
    observed: dict[Key, str] = {}

    async def look(host: Host) -> None:
        own = [step for (name, _), step in graph.steps.items() if name == host.name]
        try:
            answers = await probe(host, own)
        except HostError as problem:
            _lose(session, host.name, problem.problem, emit)
            return
        observed.update({(host.name, name): text for name, text in answers.items()})
        emit(Event("probed", host.name, steps=len(own)))

    await asyncio.gather(*(look(host) for host in list(session.hosts.values())))
    return observed


def _lose(session: Session, name: str, why: str, emit: Emit) -> None:
    session.missing[name] = why
    del session.hosts[name]
    emit(Event("lost", name, text=why))
