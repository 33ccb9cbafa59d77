"""`check`: whether the cluster does what a cluster is for, from its daemons up to a training."""

from __future__ import annotations

import importlib.util
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from corral.checks.finding import Finding
from corral.checks.ladder.climb import QUICK, RUNGS, OnRung, climb
from corral.checks.ladder.jobs import Jobs
from corral.checks.ladder.rung import Result
from corral.checks.ladder.site import Site
from corral.checks.ladder.thresholds import Thresholds
from corral.deploy.cluster import Cluster
from corral.deploy.events import Emit
from corral.errors import CheckError, HostError, InputError
from corral.spec.model import ClusterSpec
from corral.workflows.machines import current_machines
from corral.workflows.nodes import drain
from corral.workflows.operator import NOBODY, Operator
from corral.workflows.session import Session, find_out, open_session

_QUICK_PATIENCE_S = 3
_QUICK_LONGEST_S = 60.0
_REASON = 120
# Looks without loading it, which takes seconds.
_NO_TORCH = 3
_HAS_TORCH = f"import importlib.util as util, sys; sys.exit(0 if util.find_spec('torch') else {_NO_TORCH})"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be checked: everything, unless it says otherwise."""

    only: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    env: str | None = None
    drain: bool = False


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Every rung with its result."""

    cluster: str
    nodes: tuple[str, ...]
    results: tuple[Result, ...]
    seconds: float
    drained: tuple[str, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for result in self.results for finding in result.findings)

    @property
    def ok(self) -> bool:
        """Warnings are worth reading, and nothing more."""
        return all(result.status != "failed" for result in self.results)

    def to_json(self) -> dict[str, object]:
        return {
            "version": 1,
            "cluster": self.cluster,
            "ok": self.ok,
            "nodes": list(self.nodes),
            "seconds": round(self.seconds, 2),
            "rungs": [result.to_json() for result in self.results],
            "drained": list(self.drained),
        }


async def check_cluster(
    spec: ClusterSpec, wanted: Wanted, emit: Emit, on_rung: OnRung, operator: Operator = NOBODY
) -> CheckReport:
    """Climb the ladder; what is found is only told, and drained where that is wanted."""
    _check_names(spec, wanted)
    began = time.monotonic()
    try:
        async with open_session(spec, current_machines(spec), emit, operator) as session:
            cluster = await find_out(session, emit)
            if cluster.head.facts.slurm_version is None:
                raise CheckError(f"{cluster.head.name}: there is no Slurm on the head yet. Try: corral up")
            jobs = Jobs(session.head, list(spec.all_partitions))
            site = _site(session, cluster, jobs, wanted.nodes)
            site.python, site.no_python = await _python(session, wanted)
            results = await climb(site, wanted.only or [rung.name for rung in RUNGS], on_rung)
            drained = await _drain(site, results) if wanted.drain else ()
            return CheckReport(spec.name, site.nodes, tuple(results), time.monotonic() - began, drained)
    except HostError as problem:
        raise CheckError(f"the check could not be made: {problem}") from problem


async def quick_check(session: Session, cluster: Cluster) -> CheckReport:
    """The lower rungs in a second, on connections that are open; busy nodes are left alone."""
    began = time.monotonic()
    jobs = Jobs(
        session.head, list(session.spec.all_partitions), patience_s=_QUICK_PATIENCE_S, longest_s=_QUICK_LONGEST_S
    )
    site = _site(session, cluster, jobs)
    results = await climb(site, QUICK, lambda _rung, _result: None)
    return CheckReport(session.spec.name, site.nodes, tuple(results), time.monotonic() - began)


def _site(session: Session, cluster: Cluster, jobs: Jobs, only: Sequence[str] = ()) -> Site:
    nodes = tuple(node.name for node in cluster.compute_nodes if not only or node.name in only)
    return Site(cluster, session.hosts, session.missing, jobs, Thresholds.of(session.spec), nodes)


async def _python(session: Session, wanted: Wanted) -> tuple[str, str]:
    """The Python that has torch, or why there is none; one that was asked for must have it."""
    spec = session.spec
    folder = wanted.env or spec.check.env
    if folder is None and spec.local is not None and importlib.util.find_spec("torch") is not None:
        # Local machines see this very environment at the same place.
        folder = sys.prefix
    if folder is None:
        return "", "no environment with torch is known: name one with --env, or check: {env: …} in the file"
    python = f"{folder}/bin/python"
    done = await session.head.run(f"{shlex.quote(python)} -c {shlex.quote(_HAS_TORCH)}", timeout_s=30)
    if done.ok:
        return python, ""
    why_not = f"{folder} has no torch" if done.exit_code == _NO_TORCH else f"{python} does not run on {spec.head}"
    if wanted.env is not None:
        raise InputError(f"--env {wanted.env}: {why_not}. Write the path of an environment that all nodes see")
    return "", why_not


def _check_names(spec: ClusterSpec, wanted: Wanted) -> None:
    rungs = [rung.name for rung in RUNGS]
    for name in wanted.only:
        if name not in rungs:
            raise InputError(f"there is no rung '{name}'; rungs: {', '.join(rungs)}")
    for name in wanted.nodes:
        if name not in spec.compute_machines:
            raise InputError(
                f"there is no compute node '{name}' in {spec.name}; its nodes: {', '.join(spec.compute_machines)}"
            )
    if wanted.env is not None and not wanted.env.startswith("/"):
        raise InputError(f"--env {wanted.env}: write the whole path of an environment that all nodes see")


async def _drain(site: Site, results: Sequence[Result]) -> tuple[str, ...]:
    """Take whoever is to blame out of service, each for its first error; who is out already stays as it is."""
    offenders: dict[str, str] = {}
    for finding in (finding for result in results for finding in result.findings):
        details = site.details(finding.where)
        if finding.severity == "error" and details is not None and not details.out_of_service:
            offenders.setdefault(finding.where, finding.what)
    for name, what in offenders.items():
        await drain(site.head, name, f"corral check: {what.splitlines()[0][:_REASON]}")
    return tuple(offenders)
