"""Why nodes are out of service: asks the head and every machine once, and judges."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

from corral.checks import catalogue as kinds
from corral.checks import node_mends as mends
from corral.checks.finding import Finding
from corral.checks.node_case import Case
from corral.checks.node_evidence import (
    HeadEvidence,
    MachineEvidence,
    head_script,
    machine_script,
    parse_head,
    parse_machine,
)
from corral.checks.node_rules import findings_of
from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.service import Service
from corral.deploy.steps import steps_for
from corral.errors import HostError
from corral.hosts.base import Host

_TIMEOUT_S = 45.0


async def node_findings(cluster: Cluster, hosts: Mapping[str, Host], missing: Mapping[str, str]) -> list[Finding]:
    """What is wrong with the nodes of a deployed cluster; nothing is changed."""
    return findings_in(cluster, await node_cases(cluster, hosts, missing))


async def node_cases(cluster: Cluster, hosts: Mapping[str, Host], missing: Mapping[str, str]) -> list[Case]:
    """Everything that head and machines say, machine by machine; nothing of a cluster that is not deployed."""
    head_host = hosts.get(cluster.spec.head)
    if head_host is None or cluster.head.facts.slurm_version is None:
        return []
    head = await _ask_head(cluster, head_host)
    return await asyncio.gather(*(_case(cluster, node, head, hosts, missing) for node in cluster.nodes.values()))


def findings_in(cluster: Cluster, cases: Sequence[Case]) -> list[Finding]:
    """What is wrong by all that was said."""
    found = [finding for case in cases for finding in findings_of(case)]
    silent = bool(cases) and not cases[0].head.nodes
    if silent and not any(finding.where == cluster.head.name for finding in found):
        found.insert(0, _controller_silent(cluster))
    return found


async def _ask_head(cluster: Cluster, host: Host) -> HeadEvidence:
    addresses = {node.name: node.address for node in cluster.compute_nodes}
    asked_at_s = time.time()
    done = await host.run(head_script(addresses), timeout_s=_TIMEOUT_S)
    return parse_head(done.stdout, asked_at_s, time.time())


async def _case(
    cluster: Cluster, node: Node, head: HeadEvidence, hosts: Mapping[str, Host], missing: Mapping[str, str]
) -> Case:
    host = hosts.get(node.name)
    if host is None:
        return Case(cluster, node, head, None, missing.get(node.name, "not connected"))
    try:
        return Case(cluster, node, head, await _ask_machine(cluster, node, head, host))
    except HostError as problem:
        return Case(cluster, node, head, None, problem.problem)


async def _ask_machine(cluster: Cluster, node: Node, head: HeadEvidence, host: Host) -> MachineEvidence:
    storage = cluster.spec.storage
    script = machine_script(
        units=[step.name for step in steps_for(cluster, node) if isinstance(step, Service)],
        devices=head.gpus.get(node.name, ()),
        head=cluster.head.address,
        mount=storage.shared.mount if storage is not None and storage.shared.is_mounted_on(node.name) else None,
    )
    asked_at_s = time.time()
    done = await host.run(script, stdin=f"{head.credential}\n".encode(), timeout_s=_TIMEOUT_S)
    return parse_machine(done.stdout, asked_at_s, time.time())


def _controller_silent(cluster: Cluster) -> Finding:
    mend = mends.start(cluster, cluster.head, "slurmctld")
    advice = kinds.CONTROLLER.by_hand
    return Finding(
        "error", cluster.head.name, "slurmctld does not answer scontrol", advice, mend, kinds.CONTROLLER.name
    )
