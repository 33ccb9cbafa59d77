"""`doctor`: what is wrong with the cluster, in plain words, and mending what is safe to mend."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

from corral.checks import preflight
from corral.checks.evidence import Evidence
from corral.checks.finding import Finding
from corral.checks.nodes import node_findings
from corral.deploy.cluster import Cluster
from corral.deploy.events import Emit, Event
from corral.errors import HostError, InputError
from corral.hosts.base import Host
from corral.spec.model import ClusterSpec
from corral.workflows.lock import hold_here, hold_on
from corral.workflows.machines import current_machines
from corral.workflows.operator import NOBODY, Operator
from corral.workflows.session import Session, joined, look, open_session
from corral.workflows.state import ClusterState

Check = Callable[[Cluster, Mapping[str, Host], Mapping[str, str]], Awaitable[list[Finding]]]

CHECKS: tuple[Check, ...] = (node_findings,)
# Mending one thing can bring another to light: a node whose daemon runs again is still to be resumed.
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Mended:
    """One thing that `--fix` did, or tried to."""

    where: str
    summary: str
    ok: bool
    text: str = ""


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """What is wrong now, and what was mended before."""

    cluster: str
    findings: tuple[Finding, ...]
    mended: tuple[Mended, ...] = ()

    @property
    def ok(self) -> bool:
        """Warnings are worth reading, and nothing more."""
        return all(finding.severity != "error" for finding in self.findings)

    def to_json(self) -> dict[str, object]:
        return {
            "cluster": self.cluster,
            "ok": self.ok,
            "findings": [finding.to_json() for finding in self.findings],
            "mended": [asdict(one) for one in self.mended],
        }


async def examine(spec: ClusterSpec, emit: Emit, only: Sequence[str] = (), operator: Operator = NOBODY) -> DoctorReport:
    """Look at the whole cluster, or at some of its machines; nothing is changed."""
    _check_names(spec, only)
    async with open_session(spec, current_machines(spec), emit, operator) as session:
        return DoctorReport(spec.name, tuple(await _look(session, emit, only)))


async def mend(spec: ClusterSpec, emit: Emit, only: Sequence[str] = (), operator: Operator = NOBODY) -> DoctorReport:
    """Look, mend what can be mended without risk to running jobs, and look again until nothing more can."""
    _check_names(spec, only)
    state = ClusterState(spec.name)
    with hold_here(state.folder):
        async with open_session(spec, current_machines(spec), emit, operator) as session, hold_on(session.head):
            mended: list[Mended] = []
            findings = await _look(session, emit, only)
            for _ in range(_ROUNDS):
                tried = {(one.where, one.summary) for one in mended}
                new = [one for one in findings if one.mend and (one.where, one.mend.summary) not in tried]
                if not new:
                    break
                mended += await _mend_all(session, new, emit)
                findings = await _look(session, emit, only)
            return DoctorReport(spec.name, tuple(findings), tuple(mended))


def _check_names(spec: ClusterSpec, only: Sequence[str]) -> None:
    for name in only:
        if name not in spec.machines:
            known = ", ".join(spec.machines)
            raise InputError(f"there is no machine '{name}' in {spec.name}; its machines: {known}")


async def _look(session: Session, emit: Emit, only: Sequence[str]) -> list[Finding]:
    looked = await look(session, emit)
    evidence = Evidence(session.spec, looked.facts, looked.surveys)
    head = looked.surveys.get(session.spec.head)
    if head is None or not any(conf.is_ours for conf in head.slurm_confs):
        # Nothing to ask the controller of, because it is out of reach or was never set up.
        findings = [*preflight.out_of_reach(session.missing), *preflight.preflight(evidence, preflight.ALL)]
    else:
        cluster = await joined(session, looked)
        found = await asyncio.gather(*(check(cluster, session.hosts, session.missing) for check in CHECKS))
        findings = [finding for some in found for finding in some]
        findings += preflight.preflight(evidence, preflight.BESIDE_SLURM)
    return [finding for finding in findings if not only or finding.where in only]


async def _mend_all(session: Session, findings: Sequence[Finding], emit: Emit) -> list[Mended]:
    """Machines side by side, the mends of one machine in the order of its findings."""
    by_machine: dict[str, list[Finding]] = {}
    for finding in findings:
        by_machine.setdefault(finding.where, []).append(finding)

    async def one_machine(name: str, own: Sequence[Finding]) -> list[Mended]:
        host = session.hosts.get(name)
        return [] if host is None else [await _mend(host, finding, emit) for finding in own]

    done = await asyncio.gather(*(one_machine(name, own) for name, own in by_machine.items()))
    return [one for some in done for one in some]


async def _mend(host: Host, finding: Finding, emit: Emit) -> Mended:
    change = finding.mend
    assert change is not None
    emit(Event("started", host.name, change.summary, change.summary))
    try:
        done = await host.run(change.script, stdin=change.stdin, timeout_s=change.timeout_s)
        text = "" if done.ok else done.last_words()
    except HostError as problem:
        text = problem.problem
    emit(Event("failed" if text else "changed", host.name, change.summary, text))
    return Mended(host.name, change.summary, not text, text)
