"""`up --upgrade`: a newer Slurm in the order that Slurm asks for, while jobs run on."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import replace

from corral.deploy.apply import Deployment, Outcome
from corral.deploy.cluster import Cluster
from corral.deploy.events import Emit
from corral.deploy.plan import Graph, PlannedStep, plan
from corral.deploy.releases import understands, upstream
from corral.deploy.resources.service import Service
from corral.deploy.step import Step
from corral.deploy.steps import steps_for
from corral.deploy.upgrade import (
    OFFER_SCRIPT,
    Offer,
    backup,
    check_upgrade,
    parse_offer,
    pause_scheduling,
    resume_scheduling,
    upgrade,
)
from corral.hosts.base import Host
from corral.workflows.session import Session, find_out, observe

_REFRESH = "apt-get -q -o DPkg::Lock::Timeout=300 update >/dev/null 2>&1; "
_REFRESH_TIMEOUT_S = 300.0
# Converting the accounting of years takes slurmdbd its time.
_CONVERSION_S = 3600


async def ask_offers(session: Session, names: Collection[str], *, refresh: bool) -> dict[str, Offer]:
    """What each machine has and could get; `refresh` asks the package mirror first."""

    async def ask(host: Host) -> Offer:
        script = (_REFRESH if refresh else "") + OFFER_SCRIPT
        return parse_offer((await host.run(script, timeout_s=_REFRESH_TIMEOUT_S)).stdout)

    answers = await asyncio.gather(*(ask(session.hosts[name]) for name in names))
    return dict(zip(names, answers, strict=True))


def upgrade_notices(offers: dict[str, Offer], head: str) -> list[str]:
    """That there is a newer Slurm, for people who did not ask for it."""
    offer = next((offers[name] for name in (head, *offers) if name in offers and offers[name].newer), None)
    if offer is None:
        return []
    text = f"the distribution offers Slurm {upstream(offer.candidate)}, installed is {upstream(offer.installed)}"
    if offer.present and offer.future and not understands(offer.future, offer.present):
        return [f"{text}; Slurm does not support this jump in one step"]
    return [f"{text}. Upgrade with: corral up --upgrade"]


async def plan_upgrade(session: Session, cluster: Cluster, emit: Emit) -> list[PlannedStep]:
    """What an upgrade would do before the ordinary steps restart the daemons; nothing is changed."""
    offers = await ask_offers(session, list(session.hosts), refresh=False)
    check_upgrade(offers, cluster.head.name)
    graph = Graph(cluster.head.name, {name: _package_steps(cluster, name, offers) for name in session.hosts})
    return plan(graph, await observe(session, graph, emit))


async def upgrade_packages(session: Session, cluster: Cluster, emit: Emit) -> list[Outcome]:
    """Bring every machine's packages to what is offered, the head first; stop at what could not be done.

    Afterwards the head's daemons run on the new version; those of the nodes restart in their ordinary steps.
    """
    head = cluster.head.name
    offers = await ask_offers(session, list(session.hosts), refresh=True)
    check_upgrade(offers, head)
    if not any(offer.newer for offer in offers.values()):
        return []
    outcomes = await _run(session, head, {head: _package_steps(cluster, head, offers)}, emit)
    if not _undone(outcomes) and offers[head].newer:
        outcomes += await _restart_head(session, emit)
    if not _undone(outcomes):
        others = {name: _package_steps(cluster, name, offers) for name in session.hosts if name != head}
        outcomes += await _run(session, head, others, emit)
    return outcomes


async def give_back_nodes(session: Session, cluster: Cluster, emit: Emit) -> list[Outcome]:
    """End the pause that the upgrade, this one or an interrupted one, made in the scheduling."""
    return await _run(session, cluster.head.name, {cluster.head.name: [resume_scheduling()]}, emit)


async def _restart_head(session: Session, emit: Emit) -> list[Outcome]:
    """slurmdbd, then slurmctld, on the version that the head has now."""
    cluster = await find_out(session, emit)
    steps = [
        replace(step, ready_within_s=_CONVERSION_S) if isinstance(step, Service) and step.name == "slurmdbd" else step
        for step in steps_for(cluster, cluster.head)
    ]
    return await _run(session, cluster.head.name, {cluster.head.name: steps}, emit)


def _package_steps(cluster: Cluster, name: str, offers: dict[str, Offer]) -> list[Step]:
    if not any(offer.newer for offer in offers.values()):
        return []
    steps: list[Step] = []
    if name == cluster.head.name:
        steps.append(pause_scheduling())
        steps += [backup(offers[name])] if offers[name].newer else []
    return [*steps, upgrade(cluster, cluster.nodes[name], offers[name])] if offers[name].newer else steps


async def _run(session: Session, head: str, steps: dict[str, list[Step]], emit: Emit) -> list[Outcome]:
    graph = Graph(head, steps)
    return await Deployment(graph, session.hosts, await observe(session, graph, emit), emit).run()


def _undone(outcomes: Sequence[Outcome]) -> bool:
    return any(outcome.result not in ("ok", "changed") for outcome in outcomes)
