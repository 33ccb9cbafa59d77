"""`status`: the whole cluster as it is now, and what is wrong with it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from corral.checks.node_evidence import mount_script
from corral.checks.node_rules import in_brief
from corral.deploy.events import Event
from corral.errors import HostError
from corral.hosts.base import Host
from corral.slurm.listing import JobRow, parse_queue, queue_script
from corral.slurm.text import (
    GPUS_IN_USE_SCRIPT,
    NODES_SCRIPT,
    PARTITIONS_SCRIPT,
    NodeState,
    PartitionState,
    Reason,
    parse_nodes,
    parse_partitions,
)
from corral.spec.model import ClusterSpec
from corral.workflows.machines import current_machines
from corral.workflows.operator import NOBODY, Operator
from corral.workflows.session import Session, open_session

_HEAD_DAEMONS = ("mariadb", "slurmdbd", "slurmctld", "slurmrestd")
_LISTINGS = (
    "scontrol ping",
    "scontrol --version",
    NODES_SCRIPT,
    GPUS_IN_USE_SCRIPT,
    PARTITIONS_SCRIPT,
    queue_script(),
)
_MACHINE_SCRIPT = """
for unit in {units}; do
  if [ -d /run/systemd/system ]; then state=$(systemctl is-active $unit)
  elif supervisorctl status $unit >/dev/null 2>&1; then state=active; else state=stopped; fi
  echo "$unit $state"
done
[ -r /etc/corral/simulated-gpus ] && echo "simulated yes"
true
"""


@dataclass(frozen=True, slots=True)
class MachineStatus:
    """One machine: reachable or not, and its daemons' states as its service manager tells them."""

    name: str
    roles: tuple[str, ...]
    reachable: bool
    problem: str
    daemons: dict[str, str]
    gpus_are_simulated: bool
    shared_folder: str
    """`missing`, `hangs`, or empty when it is there or not wanted."""


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """One screen's worth of cluster."""

    cluster: str
    slurm: str
    machines: tuple[MachineStatus, ...]
    nodes: tuple[NodeState, ...]
    partitions: tuple[PartitionState, ...]
    queue: tuple[JobRow, ...]
    problems: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "ok": not self.problems}


async def cluster_status(spec: ClusterSpec, operator: Operator = NOBODY) -> ClusterStatus:
    """Ask every machine and the controller at once."""
    async with open_session(spec, current_machines(spec), _quiet, operator) as session:
        answers, machines = await asyncio.gather(
            _controller(session), asyncio.gather(*(machine_status(session, name) for name in spec.machines))
        )
    ping, version, nodes, in_use, partitions, queue = answers
    found = tuple(parse_nodes(nodes, in_use))
    return ClusterStatus(
        cluster=spec.name,
        slurm=version.strip().removeprefix("slurm ").removeprefix("slurm-wlm "),
        machines=tuple(machines),
        nodes=found,
        partitions=tuple(parse_partitions(partitions)),
        queue=tuple(parse_queue(queue)),
        problems=tuple(problems(spec, machines, found, ping)),
    )


def _quiet(_event: Event) -> None:
    """Status has no progress to show: it is over in less than a second."""


async def _controller(session: Session) -> list[str]:
    if session.spec.head in session.missing:
        return [""] * len(_LISTINGS)
    marker = f"--corral-{secrets.token_hex(8)}--"
    script = "\n".join(f"{listing} 2>/dev/null; printf %s {marker}" for listing in _LISTINGS)
    try:
        done = await session.head.run(script, timeout_s=30)
    except HostError:
        return [""] * len(_LISTINGS)
    return (done.stdout.split(marker) + [""] * len(_LISTINGS))[: len(_LISTINGS)]


async def machine_status(session: Session, name: str) -> MachineStatus:
    """One machine, in one round trip."""
    roles = session.spec.roles(name)
    units = ["munge"]
    units += _HEAD_DAEMONS if "head" in roles else ()
    units += ["corral-keeper"] if "head" in roles and session.spec.jobs_folder else []
    units += ["slurmd"] if "compute" in roles else []
    host: Host | None = session.hosts.get(name)
    problem, answers = session.missing.get(name, ""), {}
    if host is not None:
        try:
            done = await host.run(_machine_script(session.spec, name, units), timeout_s=20)
            answers = dict(line.replace("=", " ", 1).partition(" ")[::2] for line in done.stdout.splitlines())
        except HostError as error:
            problem = error.problem
    return MachineStatus(
        name=name,
        roles=tuple(sorted(roles)),
        reachable=not problem,
        problem=problem,
        daemons={unit: answers[unit] for unit in units if unit in answers},
        gpus_are_simulated="simulated" in answers,
        shared_folder=answers.get("mount", ""),
    )


def _machine_script(spec: ClusterSpec, name: str, units: Sequence[str]) -> str:
    script = _MACHINE_SCRIPT.format(units=" ".join(units))
    if spec.storage is None or not spec.storage.shared.is_mounted_on(name):
        return script
    return script + mount_script(spec.storage.shared.mount)


def problems(spec: ClusterSpec, machines: Sequence[MachineStatus], nodes: Sequence[NodeState], ping: str) -> list[str]:
    """What is wrong, most telling first, each with what to try."""
    found = [f"{machine.name}: not reachable: {machine.problem}" for machine in machines if machine.problem]
    for machine in machines:
        for unit, state in machine.daemons.items():
            if state != "active":
                found.append(
                    f"{machine.name}: {unit} is {state}. "
                    f"Try: corral up, or corral ssh {machine.name} journalctl -u {unit} -n 20"
                )
        if machine.shared_folder and spec.storage is not None:
            state = "is not mounted" if machine.shared_folder == "missing" else "does not answer"
            found.append(f"{machine.name}: {spec.storage.shared.mount} {state}. Try: corral doctor {machine.name}")
    if "is UP" not in ping:
        found.append(f"{spec.head}: slurmctld does not answer. Try: corral up")
    for node in nodes:
        if not node.healthy:
            found.append(f"{node.name}: {node.state}: {_why(node)}")
    known = {node.name for node in nodes}
    if known:
        found += [
            f"{name}: not known to slurmctld yet. Try: corral up" for name in spec.compute_machines if name not in known
        ]
    return found


def _why(node: NodeState) -> str:
    """The doctor's words where Slurm gives a reason."""
    if node.reason:
        return in_brief(node.name, Reason(node.reason, node.reason_by, ""))
    return f"{'it does not respond. ' if node.state.endswith('*') else ''}Try: corral doctor {node.name}"
