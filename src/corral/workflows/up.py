"""`plan` and `up`: what would change, and making it so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace

from corral.checks import catalogue as kinds
from corral.checks.evidence import Evidence
from corral.checks.finding import Finding
from corral.checks.ladder import kinds as ladder_kinds
from corral.checks.preflight import preflight
from corral.deploy.apply import Deployment, Outcome
from corral.deploy.cluster import Cluster
from corral.deploy.events import Emit
from corral.deploy.plan import Graph, PlannedStep, plan
from corral.deploy.steps import steps_for
from corral.deploy.upgrade import check_installation
from corral.errors import HostError, NotReady
from corral.spec.dump import dump_cluster
from corral.spec.model import ClusterSpec
from corral.workflows.check import CheckReport, quick_check
from corral.workflows.lock import hold_here, hold_on
from corral.workflows.machines import current_machines, local_machines
from corral.workflows.operator import NOBODY, Operator
from corral.workflows.session import Session, find_out, graph_of, joined, look, observe, open_session
from corral.workflows.state import ClusterState
from corral.workflows.upgrade import ask_offers, give_back_nodes, plan_upgrade, upgrade_notices, upgrade_packages

Progress = Callable[[str], None]

_FIRST = ("service accounts", "packages")
"""What needs no other fact than which machine it is, and brings Slurm."""
_OWN_FAULTS = frozenset(
    kind.name
    for kind in (
        *(kinds.CONTROLLER, kinds.SLURMD_STOPPED, kinds.DAEMON_STOPPED, kinds.MUNGE_STOPPED, kinds.MUNGE_KEY),
        *(kinds.STALE_CONFIG, kinds.UNKNOWN_NODE, kinds.MOUNT),
        *(ladder_kinds.JOB_FAILS, ladder_kinds.GPU_OPEN, ladder_kinds.SHARE_DIFFERS, ladder_kinds.SHARE_UNWRITABLE),
    )
)
"""What a deployment has brought about itself, so that it is not done while one of them is there."""


@dataclass(frozen=True, slots=True)
class PlanReport:
    """Everything that `up` would do now."""

    cluster: str
    steps: tuple[PlannedStep, ...]
    missing: dict[str, str]
    findings: tuple[Finding, ...]
    """What preflight has to say; for `up` only warnings, because an error stops it."""
    notices: tuple[str, ...]

    @property
    def changes(self) -> tuple[PlannedStep, ...]:
        return tuple(step for step in self.steps if step.verdict != "ok")

    def to_json(self) -> dict[str, object]:
        return {
            "cluster": self.cluster,
            "steps": [step.to_json() for step in self.steps],
            "missing": self.missing,
            "findings": [finding.to_json() for finding in self.findings],
            "notices": list(self.notices),
        }


@dataclass(frozen=True, slots=True)
class UpReport:
    """What `up` did, machine by machine."""

    cluster: str
    outcomes: tuple[Outcome, ...]
    missing: dict[str, str]
    findings: tuple[Finding, ...]
    """What preflight has to say; for `up` only warnings, because an error stops it."""
    notices: tuple[str, ...]
    check: CheckReport | None = None
    """What the quick check found; None where the deployment is not complete, so that it would say nothing new."""

    @property
    def changed(self) -> int:
        return sum(outcome.result == "changed" for outcome in self.outcomes)

    @property
    def undone(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.result not in ("ok", "changed"))

    @property
    def complete(self) -> bool:
        return not self.undone and not self.missing

    @property
    def ok(self) -> bool:
        """Complete, and what `up` itself answers for works: it does not answer for drained nodes or broken GPUs."""
        return self.complete and not any(finding.kind in _OWN_FAULTS for finding in self.check_errors)

    @property
    def check_errors(self) -> tuple[Finding, ...]:
        found = self.check.findings if self.check is not None else ()
        return tuple(finding for finding in found if finding.severity == "error")

    def to_json(self) -> dict[str, object]:
        return {
            "cluster": self.cluster,
            "ok": self.ok,
            "changed": self.changed,
            "outcomes": [asdict(outcome) for outcome in self.outcomes if outcome.result != "ok"],
            "missing": self.missing,
            "findings": [finding.to_json() for finding in self.findings],
            "notices": list(self.notices),
            "check": None if self.check is None else self.check.to_json(),
        }


async def plan_cluster(
    spec: ClusterSpec, emit: Emit, operator: Operator = NOBODY, *, upgrade: bool = False
) -> PlanReport:
    """Look at every machine and compare; nothing is changed."""
    async with open_session(spec, current_machines(spec), emit, operator) as session:
        looked = await look(session, emit)
        findings = preflight(Evidence(spec, looked.facts, looked.surveys))
        cluster = await joined(session, looked)
        planned = await plan_upgrade(session, cluster, emit) if upgrade else []
        graph = graph_of(cluster)
        observed, offers = await asyncio.gather(
            observe(session, graph, emit), ask_offers(session, list(session.hosts), refresh=False)
        )
        notices = cluster.notices() + ([] if upgrade else upgrade_notices(offers, spec.head))
        steps = (*planned, *plan(graph, observed))
        return PlanReport(spec.name, steps, session.missing, tuple(findings), tuple(notices))


async def up_cluster(
    spec: ClusterSpec,
    emit: Emit,
    progress: Progress,
    operator: Operator = NOBODY,
    *,
    keep_file: bool = False,
    upgrade: bool = False,
) -> UpReport:
    """Make the cluster what its file says, making local machines first where it has any.

    `keep_file` writes the file down, for a cluster that was asked for on the command line; `upgrade` brings
    Slurm to the version that the distribution offers.
    """
    state = ClusterState(spec.name)
    with hold_here(state.folder):
        if spec.local is not None:
            if keep_file:
                state.write(state.cluster_file, dump_cluster(spec).encode())
            machines = await local_machines(spec).up(list(spec.machines), progress)
        else:
            machines = current_machines(spec)
        async with open_session(spec, machines, emit, operator) as session, hold_on(session.head):
            looked = await look(session, emit)
            findings = preflight(Evidence(spec, looked.facts, looked.surveys))
            _stop_on_errors(findings)
            cluster = await _with_packages(session, await joined(session, looked), emit)
            before: list[Outcome] = []
            if upgrade:
                before = await upgrade_packages(session, cluster, emit)
                cluster = await find_out(session, emit)
            outcomes = [*before, *await _deploy(session, cluster, emit)]
            if upgrade:
                outcomes += await give_back_nodes(session, cluster, emit)
            report = UpReport(spec.name, tuple(outcomes), session.missing, tuple(findings), tuple(cluster.notices()))
            return await _with_check(report, session, cluster, progress) if report.complete else report


async def _with_check(report: UpReport, session: Session, cluster: Cluster, progress: Progress) -> UpReport:
    """A deployment is worth what it was seen to do: a second more shows that jobs run."""
    try:
        progress("checking that jobs run")
        check = await quick_check(session, cluster)
    except HostError as problem:
        # What was deployed stays deployed; the check alone has nothing to say.
        progress(f"the quick check could not be made: {problem}")
        return report
    return replace(report, check=check)


def _stop_on_errors(findings: Sequence[Finding]) -> None:
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        raise NotReady([f"{finding.where}: {finding.what}. To mend it, {finding.fix}" for finding in errors])


async def _deploy(session: Session, cluster: Cluster, emit: Emit) -> list[Outcome]:
    graph = graph_of(cluster)
    return await Deployment(graph, session.hosts, await observe(session, graph, emit), emit).run()


async def _with_packages(session: Session, cluster: Cluster, emit: Emit) -> Cluster:
    """The cluster with Slurm on every machine: which version it is decides what the other steps want."""
    if all(cluster.nodes[name].facts.slurm_version for name in session.hosts):
        return cluster
    bare = [name for name in session.hosts if not cluster.nodes[name].facts.slurm_version]
    offers = await ask_offers(session, [name for name in session.hosts if name not in bare], refresh=False)
    check_installation(offers | await ask_offers(session, bare, refresh=True), session.spec.head)
    first = {
        name: [step for step in steps_for(cluster, cluster.nodes[name]) if step.name in _FIRST]
        for name in session.hosts
    }
    graph = Graph(cluster.head.name, first)
    await Deployment(graph, session.hosts, await observe(session, graph, emit), emit).run()
    return await find_out(session, emit)
