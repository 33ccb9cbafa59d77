"""`node add` and `node remove`: the cluster file gets one machine more or less, and `up` makes it so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from corral.deploy.events import Emit
from corral.errors import InputError, Unreachable
from corral.spec.edit import with_machine, without_machine
from corral.spec.load import load_cluster, parse_cluster, read_text
from corral.spec.model import ClusterSpec
from corral.workflows.down import stop_daemons
from corral.workflows.machines import current_machines
from corral.workflows.nodes import Progress, details_of, drain, jobs_on, send_away, wait_until_free
from corral.workflows.operator import NOBODY, Operator
from corral.workflows.session import find_out, graph_of, open_session
from corral.workflows.state import replace_text
from corral.workflows.up import UpReport, up_cluster


@dataclass(frozen=True, slots=True)
class ResizeReport:
    """What became of the file, the machine and its jobs, and how `up` went."""

    spec: ClusterSpec
    up: UpReport
    jobs: dict[str, str]
    stopped: tuple[str, ...] = ()
    left: str = ""
    """Why the machine itself was left as it is, where it was."""

    def to_json(self) -> dict[str, object]:
        return {
            "machines": list(self.spec.machines),
            "jobs": self.jobs,
            "stopped": list(self.stopped),
            "left": self.left,
            "up": self.up.to_json(),
        }


async def add_node(
    file: Path,
    name: str,
    keys: Mapping[str, str | int],
    emit: Emit,
    progress: Progress,
    operator: Operator = NOBODY,
) -> ResizeReport:
    """Write the machine into the file, once it is known to answer, and bring it up."""
    text = read_text(file)
    before = parse_cluster(text, str(file))
    if name in before.machines:
        raise InputError(f"{name} is already in {file}. Try: corral up")
    if before.local is not None and keys:
        raise InputError(f"{before.name} is a local cluster: its machines are made here and take no address")
    new = with_machine(text, str(file), name, keys)
    spec = parse_cluster(new, str(file))
    if spec.local is None:
        await _check_reachable(spec, name, emit, operator)
    replace_text(file, new)
    return ResizeReport(spec, await up_cluster(spec, emit, progress, operator), {})


async def _check_reachable(spec: ClusterSpec, name: str, emit: Emit, operator: Operator) -> None:
    machines = [machine for machine in current_machines(spec) if machine.name == name]
    async with open_session(spec, machines, emit, operator) as session:
        if name in session.missing:
            raise Unreachable(name, f"{session.missing[name]}. Nothing was changed")


async def remove_node(
    file: Path, name: str, *, now: bool, emit: Emit, progress: Progress, operator: Operator = NOBODY
) -> ResizeReport:
    """Drain the node, let its jobs end or send them away, stop its daemons, and take it out of file and Slurm.

    It may be interrupted anywhere: until the file is written the same command continues, afterwards `up` does.
    """
    text = read_text(file)
    spec = load_cluster(file)
    _check_removable(spec, name)
    new = without_machine(text, str(file), name)
    jobs: dict[str, str] = {}
    async with open_session(spec, current_machines(spec), emit, operator) as session:
        if await details_of(session.head, name) is not None:
            await drain(session.head, name, "corral: being removed")
            if now:
                jobs = await send_away(session.head, await jobs_on(session.head, name))
            await wait_until_free(session.head, name, progress)
        stopped: list[str] = []
        if name in session.hosts and spec.local is None:
            graph = graph_of(await find_out(session, emit))
            stopped, _ = await stop_daemons(session, graph, [name], emit)
        left = session.missing.get(name, "")
    replace_text(file, new)
    rest = parse_cluster(new, str(file))
    return ResizeReport(rest, await up_cluster(rest, emit, progress, operator), jobs, tuple(stopped), left)


def _check_removable(spec: ClusterSpec, name: str) -> None:
    if name not in spec.machines:
        known = ", ".join(spec.machines)
        raise InputError(f"there is no machine '{name}' in {spec.name}; its machines: {known}")
    if name == spec.head:
        raise InputError(
            f"{name} is the head: slurmctld, accounting and the REST service run there, and without them there is no "
            f"cluster. To end the cluster: corral down"
        )
