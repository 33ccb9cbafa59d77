"""`node drain` and `node resume`: taking a node out of service for a while, and back."""

from __future__ import annotations

import asyncio
import getpass
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from corral.deploy.events import Emit
from corral.errors import HostError, InputError
from corral.hosts.base import Host
from corral.slurm.listing import JobRow, parse_queue, queue_script
from corral.slurm.text import NodeDetails, parse_node_details
from corral.spec.model import ClusterSpec
from corral.workflows.machines import current_machines
from corral.workflows.operator import NOBODY, Operator
from corral.workflows.session import open_session

Progress = Callable[[str], None]

_POLL_S = 1.0
_HOLDING = ("running", "completing", "suspended", "configuring")
_REQUEUE = "scontrol requeue {job} 2>/dev/null && echo requeued || {{ scancel {job} && echo cancelled; }}"


@dataclass(frozen=True, slots=True)
class NodeReport:
    """A node after a command: how the controller sees it, and what runs there."""

    node: str
    state: str
    reason: str
    jobs: tuple[JobRow, ...]

    @property
    def in_service(self) -> bool:
        return not self.reason

    def to_json(self) -> dict[str, object]:
        return asdict(self)


async def drain_node(spec: ClusterSpec, name: str, reason: str, emit: Emit, operator: Operator = NOBODY) -> NodeReport:
    """Let nothing new start on the node; what runs there goes on."""
    check_compute(spec, name)
    head = next(machine for machine in current_machines(spec) if machine.name == spec.head)
    async with open_session(spec, [head], emit, operator) as session:
        await drain(session.head, name, reason)
        return await look_at(session.head, name)


async def resume_node(spec: ClusterSpec, name: str, emit: Emit, operator: Operator = NOBODY) -> NodeReport:
    """Put the node back into service, whoever took it out."""
    check_compute(spec, name)
    head = next(machine for machine in current_machines(spec) if machine.name == spec.head)
    async with open_session(spec, [head], emit, operator) as session:
        before = await details_of(session.head, name)
        if before is not None and before.out_of_service and before.reason is not None:
            await _tell(session.head, name, "state=resume")
        return await look_at(session.head, name)


def check_compute(spec: ClusterSpec, name: str) -> None:
    """Only machines that run jobs can be taken out of service."""
    if name not in spec.machines:
        known = ", ".join(spec.machines)
        raise InputError(f"there is no machine '{name}' in {spec.name}; its machines: {known}")
    if name not in spec.compute_machines:
        raise InputError(f"{name} runs no jobs (its roles: {', '.join(sorted(spec.roles(name)))})")


async def drain(head: Host, name: str, reason: str) -> None:
    """Drain with a reason that says who; Slurm itself would only say that it was root."""
    signed = f"{reason} ({os.environ.get('SUDO_USER') or getpass.getuser()})"
    await _tell(head, name, f"state=drain reason={shlex.quote(signed)}")


async def _tell(head: Host, name: str, words: str) -> None:
    done = await head.run(f"scontrol update nodename={name} {words}")
    if not done.ok:
        raise HostError(head.name, f"slurmctld refused: {done.last_words()}. Try: corral doctor")


async def details_of(head: Host, name: str) -> NodeDetails | None:
    """The node as the controller knows it, or None where it does not."""
    done = await head.run(f"scontrol -o show node {name}")
    return parse_node_details(done.stdout).get(name) if done.ok else None


async def look_at(head: Host, name: str) -> NodeReport:
    details = await details_of(head, name)
    if details is None:
        raise HostError(name, "slurmctld does not know this node. Try: corral up")
    state = "+".join([details.state, *sorted(details.flags)]).lower()
    reason = details.reason.text if details.reason else ""
    return NodeReport(name, state, reason, tuple(await jobs_on(head, name)))


async def jobs_on(head: Host, name: str) -> list[JobRow]:
    """Jobs that still hold something of the node."""
    done = await head.run(queue_script(node=name, states=_HOLDING))
    if not done.ok:
        raise HostError(head.name, f"squeue failed: {done.last_words()}. Try: corral doctor")
    return parse_queue(done.stdout)


async def send_away(head: Host, jobs: Sequence[JobRow]) -> dict[str, str]:
    """Requeue jobs, or cancel those that cannot be (interactive ones); what became of each."""
    became = {}
    for job in jobs:
        if job.state != "COMPLETING":
            done = await head.run(_REQUEUE.format(job=job.id))
            became[job.id] = done.stdout.strip() or "already over"
    return became


async def wait_until_free(head: Host, name: str, progress: Progress) -> None:
    """Return when no job holds anything of the node any more."""
    said = ""
    while jobs := await jobs_on(head, name):
        waits = f"{name} waits for {', '.join(f'job {job.id} ({job.name}, {job.user})' for job in jobs)}"
        if waits != said:
            progress(waits)
            said = waits
        await asyncio.sleep(_POLL_S)
