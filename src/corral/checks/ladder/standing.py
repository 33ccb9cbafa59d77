"""Rungs 1 to 3, which need no job: daemons, munge and clocks, and the nodes as Slurm sees them.

The doctor's evidence is read once; here its findings are sorted into the rungs that they belong to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import replace

from corral.checks import catalogue as kinds
from corral.checks.finding import Finding
from corral.checks.ladder.rung import Outcome, judged
from corral.checks.ladder.site import Site
from corral.checks.nodes import findings_in, node_cases
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
_NEEDED_FOR_JOBS = ("slurmd", "munge")
_HARMLESS = {kinds.DAEMON_STOPPED.name, kinds.EDITED_CONFIG.name}
"""To the jobs of the machine itself."""

# Nobody needs to see a credential: it travels on standard input.
_UNMUNGE = (
    "while read -r name credential; do printf '%s' \"$credential\" | timeout 5 unmunge -n >/dev/null 2>&1; "
    'echo "$name $?"; done'
)


async def daemons(site: Site) -> Outcome:
    """Every daemon of every machine runs, in the same version of Slurm."""
    site.cases = await node_cases(site.cluster, site.hosts, site.missing)
    site.examined = findings_in(site.cluster, site.cases)
    found = [*_never_met(site), *_sorted(site, _DAEMONS)]
    asked = [(case.name, case.machine) for case in site.cases if case.machine and case.name in _wanted(site)]
    states = {(unit, name): state for name, machine in asked for unit, state in machine.units.items()}
    stopped = [place for place, state in states.items() if state != "active"]
    versions = {name: machine.slurm for name, machine in asked}
    unfit = [name for unit, name in stopped if unit in _NEEDED_FOR_JOBS]
    unfit += [one.where for one in found if one.severity == "error" and one.kind not in _HARMLESS]
    site.unfit.update(dict.fromkeys(unfit, "see daemons"))
    places = [f"{unit} on {name}" for unit, name in stopped]
    numbers = {"running": len(states) - len(stopped), "stopped": places, "slurm": versions}
    release = ", ".join(sorted(set(versions.values())))
    outcome = judged(found, f"{len(states)} daemons on {len(asked)} machines, Slurm {release}", numbers)
    if stopped and outcome.status == "passed":
        # The doctor names the cause instead, which belongs to a rung above.
        outcome = replace(outcome, status="failed", summary=f"{', '.join(places)} does not run")
    silent = not any(case.head.nodes for case in site.cases)
    return replace(outcome, stop=f"slurmctld on {site.cluster.head.name} does not answer" if silent else "")


def _never_met(site: Site) -> list[Finding]:
    """Machines of the file that nobody could ever look at: there is no case of them."""
    return [
        Finding("error", name, f"it cannot be reached: {why}", kinds.MACHINE_OFF.by_hand, kind=kinds.MACHINE_OFF.name)
        for name, why in site.missing.items()
        if name not in site.cluster.nodes
    ]


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
    fine = f"{len(offsets)} machines have the same key; clocks within {max(most, 0.1):.1f} s"
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
        outcome = replace(outcome, status="failed", summary="; ".join(words))
    because = "every node is busy" if busy and not out else "no node can take a job"
    return replace(outcome, stop="" if site.fit else because)


def _sorted(site: Site, kinds_here: Collection[str]) -> list[Finding]:
    """What the doctor found of these kinds, on machines that are being checked and on the head."""
    return [finding for finding in site.examined if finding.kind in kinds_here and finding.where in _wanted(site)]


def _wanted(site: Site) -> set[str]:
    """The nodes that are being checked, and all machines that run no jobs."""
    others = {name for name in site.cluster.nodes if name not in site.cluster.spec.compute_machines}
    return {*site.nodes, *others, site.cluster.head.name}


def _names(findings: Sequence[Finding]) -> list[str]:
    return [finding.where for finding in findings if finding.severity == "error"]
