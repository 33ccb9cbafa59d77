"""Rungs 1 to 3, which need no job: daemons, munge and clocks, and the nodes as Slurm sees them.

The doctor's evidence is read once; here its findings are sorted into the rungs that they belong to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence

from corral.checks import catalogue as kinds
from corral.checks.finding import Finding
from corral.checks.ladder.rung import Outcome, judged
from corral.checks.ladder.site import Site
from corral.errors import HostError
from corral.hosts.base import Host

_DAEMONS = {
    kind.name
    for kind in (
        kinds.MACHINE_OFF, kinds.MACHINE_HANGS, kinds.NETWORK, kinds.CONTROLLER, kinds.SLURMD_STOPPED,
        kinds.DAEMON_STOPPED, kinds.MUNGE_STOPPED, kinds.SILENT, kinds.VERSION, kinds.STALE_CONFIG, kinds.EDITED_CONFIG,
        kinds.UNKNOWN_NODE, kinds.DISK_FULL,
    )
}  # fmt: skip
_TRUST = {kinds.MUNGE_KEY.name, kinds.CLOCK.name}
_STORAGE = {kinds.MOUNT.name}

# Nobody needs to see a credential: it travels on standard input.
_UNMUNGE = (
    "while read -r name credential; do printf '%s' \"$credential\" | timeout 5 unmunge -n >/dev/null 2>&1; "
    'echo "$name $?"; done'
)


async def daemons(site: Site) -> Outcome:
    """Every daemon of every machine runs, in the same version of Slurm."""
    found = _sorted(site, _DAEMONS)
    stopped = {
        f"{unit} on {case.name}": case.name
        for case in site.cases
        if case.machine
        for unit, state in case.machine.units.items()
        if state != "active"
    }
    running = sum(len(case.machine.units) for case in site.cases if case.machine) - len(stopped)
    versions = {case.name: case.machine.slurm for case in site.cases if case.machine}
    numbers = {"running": running, "stopped": sorted(stopped), "slurm": versions}
    for name in dict.fromkeys([*stopped.values(), *_names(found), *site.missing]):
        site.unfit[name] = "a daemon there does not run" if name in stopped.values() else "see daemons"
    release = ", ".join(sorted(set(versions.values())))
    outcome = judged(found, f"{running} daemons on {len(versions)} machines, Slurm {release}", numbers)
    if stopped and outcome.status == "passed":
        # The doctor names the cause instead, which belongs to a rung above.
        outcome = Outcome("failed", f"{', '.join(stopped)} does not run", found, numbers)
    head = site.cluster.head.name
    silent = not any(case.head.nodes for case in site.cases)
    return Outcome(
        outcome.status, outcome.summary, found, numbers, f"{head}: slurmctld does not answer" if silent else ""
    )


async def trust(site: Site) -> Outcome:
    """What the head signs can be read on each machine, and the other way round; clocks agree."""
    found = _sorted(site, _TRUST)
    unread = await _unread_on_head(site)
    found += [
        Finding(
            "error",
            name,
            f"the head cannot read what it signs (unmunge ended with {code})",
            kinds.MUNGE_KEY.by_hand,
            kind=kinds.MUNGE_KEY.name,
        )
        for name, code in unread.items()
        if name not in _names(site.examined)
    ]
    head_s = next(iter(site.cases)).head.clock_s
    offsets = {case.name: round(case.machine.clock_s - head_s, 3) for case in site.cases if case.machine}
    for name in _names(found):
        site.unfit.setdefault(name, "see munge")
    most = max((abs(offset) for offset in offsets.values()), default=0.0)
    fine = (
        f"{len(offsets)} machines read what the head signs and it what they sign; clocks within {max(most, 0.1):.1f} s"
    )
    return judged(found, fine, {"clock_offset_s": offsets})


async def _unread_on_head(site: Site) -> dict[str, int]:
    """Machines whose credentials the head cannot read, with the exit code of unmunge."""

    async def sign(host: Host) -> str:
        try:
            return f"{host.name} {(await host.run('timeout 5 munge -n 2>/dev/null', timeout_s=15)).stdout.strip()}\n"
        except HostError:
            return ""

    signed = await asyncio.gather(*(sign(host) for host in site.hosts.values()))
    done = await site.head.run(_UNMUNGE, stdin="".join(signed).encode(), timeout_s=30)
    answers = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    return {name: int(code) for name, code in answers.items() if code != "0"}


async def nodes(site: Site) -> Outcome:
    """Every node is idle with the GPUs that it should have; a busy one is left alone."""
    found = [finding for finding in site.examined if finding.kind not in _DAEMONS | _TRUST | _STORAGE]
    found = [finding for finding in found if finding.where in site.nodes]
    out = [name for name in site.nodes if (seen := site.details(name)) is None or seen.out_of_service]
    for name in [finding.where for finding in found if finding.severity == "error"] + out:
        site.unfit.setdefault(name, "out of service" if name in out else "see nodes")
    busy = [name for name in site.busy if name not in site.unfit]
    site.unfit.update(dict.fromkeys(busy, "busy"))
    gpus = sum(site.gpus(name) for name in site.nodes)
    numbers = {"idle": list(site.fit), "busy": busy, "out": out, "gpus": gpus}
    words = [f"{len(site.fit)} idle"] + ([f"{', '.join(busy)} busy"] if busy else [])
    words += [f"{', '.join(out)} out of service"] if out else []
    outcome = judged(found, f"{'; '.join(words)}; {gpus} GPUs as declared", numbers)
    if out and outcome.status == "passed":
        outcome = Outcome("failed", "; ".join(words), found, numbers)
    because = "every node is busy" if busy and not out else "no node can take a job"
    return Outcome(outcome.status, outcome.summary, found, numbers, "" if site.fit else because)


def _sorted(site: Site, kinds_here: Collection[str]) -> list[Finding]:
    """What the doctor found of these kinds, on machines that are being checked and on the head."""
    wanted = {*site.nodes, *(name for name in site.cluster.nodes if name not in site.cluster.spec.compute_machines)}
    wanted |= {site.cluster.head.name, site.cluster.spec.name}
    return [finding for finding in site.examined if finding.kind in kinds_here and finding.where in wanted]


def _names(findings: Sequence[Finding]) -> list[str]:
    return [finding.where for finding in findings if finding.severity == "error"]
