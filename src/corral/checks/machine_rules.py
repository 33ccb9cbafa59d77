"""What a machine's own evidence shows, whatever Slurm says of it.

Each rule sees what the rules before it found, so that a consequence is not reported beside its cause.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from corral.checks import catalogue as kinds
from corral.checks import node_mends as mends
from corral.checks.finding import Finding
from corral.checks.node_case import Case
from corral.checks.node_evidence import MachineEvidence

Rule = Callable[[Case, Sequence[Finding]], list[Finding]]

_MIB_IN_KIB = 1024
_LITTLE_ROOM_KIB = 100 * _MIB_IN_KIB
_CLOCK_TOLERANCE_S = 5.0
_JUST_STARTED_S = 15
# unmunge's exit codes.
_MUNGE_FINE = (0, 17)
_MUNGE_NO_DAEMON = 6
_MUNGE_CLOCK = (15, 16)


def _evidence(case: Case) -> MachineEvidence:
    assert case.machine is not None
    return case.machine


def clock(case: Case, _: Sequence[Finding]) -> list[Finding]:
    own_s, head_s, head = _evidence(case).clock_s, case.head.clock_s, case.cluster.head.name
    if case.name == head:
        # Whether it is the head's clock or this computer's that is wrong, the other machines tell.
        what = f"its clock is {_apart(own_s)} this computer's"
        return [case.finding(kinds.CLOCK, what, severity="warning")] if abs(own_s) > _CLOCK_TOLERANCE_S else []
    if abs(own_s - head_s) <= _CLOCK_TOLERANCE_S:
        return []
    what = f"its clock is {_apart(own_s - head_s)} the head's"
    if abs(own_s) > _CLOCK_TOLERANCE_S:
        return [case.finding(kinds.CLOCK, what)]
    what += f", and it is the head's that is wrong: {_apart(head_s)} this computer's"
    return [case.finding(kinds.CLOCK, what, fix=f"On {head}: {kinds.CLOCK.by_hand}")]


def munge(case: Case, found: Sequence[Finding]) -> list[Finding]:
    machine = _evidence(case)
    if machine.munge == _MUNGE_NO_DAEMON or machine.units.get("munge", "active") not in ("active", "activating"):
        start = mends.start(case.cluster, case.node, "munge", "slurmd")
        return [case.finding(kinds.MUNGE_STOPPED, "munge does not run", mend=start)]
    if machine.munge is None or machine.munge in _MUNGE_FINE:
        return []
    if machine.munge in _MUNGE_CLOCK and _has(found, kinds.CLOCK):
        return []
    mend = mends.restore_munge_key(case.cluster, case.node)
    return [case.finding(kinds.MUNGE_KEY, "it cannot read what the head signs: its munge key is another", mend=mend)]


def disk(case: Case, _: Sequence[Finding]) -> list[Finding]:
    full = {place: room for place, room in _evidence(case).room_kib.items() if room < _LITTLE_ROOM_KIB}
    return [
        case.finding(kinds.DISK_FULL, f"{place} has only {room // _MIB_IN_KIB} MiB left, and slurmd writes there")
        for place, room in full.items()
    ]


def shared_folder(case: Case, _: Sequence[Finding]) -> list[Finding]:
    machine, storage = _evidence(case), case.cluster.spec.storage
    if storage is None or not machine.mount:
        return []
    mount = storage.shared.mount
    if machine.mount == "hangs":
        return [case.finding(kinds.MOUNT, f"{mount} is mounted and does not answer")]
    mend = mends.mount_shared(mount) if machine.mountable else None
    return [case.finding(kinds.MOUNT, f"{mount} is not mounted", mend=mend)]


def memory(case: Case, _: Sequence[Finding]) -> list[Finding]:
    found_mib = case.node.facts.memory_bytes >> 20
    if case.slurm is None or case.slurm.memory_mib <= found_mib:
        return []
    what = f"{case.slurm.memory_mib} MiB of memory are declared, {found_mib} MiB are there"
    if case.cluster.spec.machines[case.name].memory is None:
        return [case.finding(kinds.LOW_MEMORY, what, fix="Run corral up, which declares what is there")]
    return [case.finding(kinds.LOW_MEMORY, f"{what}; the cluster file has `memory:` for it")]


def gpus(case: Case, _: Sequence[Finding]) -> list[Finding]:
    absent, listed = _evidence(case).absent, case.head.gpus.get(case.name, ())
    if absent:
        there = len(listed) - len(absent)
        what = f"GPUs declared: {len(listed)}, there: {there}; no {', '.join(absent)}"
        return [case.finding(kinds.GPU_MISSING, what)]
    declared = case.slurm.gpus if case.slurm else 0
    if declared > len(listed):
        what = f"GPUs declared in slurm.conf: {declared}, device files in gres.conf: {len(listed)}"
        return [case.finding(kinds.GPU_MISSING, what, fix="Run corral up")]
    return []


def version(case: Case, _: Sequence[Finding]) -> list[Finding]:
    here, head = _evidence(case).slurm, case.head.slurm
    if not here or not head or here.split(".")[:2] == head.split(".")[:2]:
        return []
    newer = _numbers(here) > _numbers(head)
    what = f"Slurm {here} here, {head} on the head{': a node must not be newer' if newer else ''}"
    return [case.finding(kinds.VERSION, what, severity="error" if newer else "warning")]


def daemons(case: Case, found: Sequence[Finding]) -> list[Finding]:
    machine = _evidence(case)
    stopped = {unit: state for unit, state in machine.units.items() if state != "active" and unit != "munge"}
    findings = []
    for unit, state in stopped.items():
        if unit != "slurmd":
            start = mends.start(case.cluster, case.node, unit)
            findings.append(case.finding(kinds.DAEMON_STOPPED, f"{unit} does not run", mend=start))
        elif not any(finding.severity == "error" for finding in found):
            # One that was stopped on purpose has nothing to say about it.
            log = f"; the last error in its log: {machine.log}" if state != "inactive" and machine.log else ""
            start = mends.start(case.cluster, case.node, "slurmd")
            findings.append(case.finding(kinds.SLURMD_STOPPED, f"slurmd does not run{log}", mend=start))
    return findings


def network(case: Case, found: Sequence[Finding]) -> list[Finding]:
    if not case.computes or found:
        return []
    findings = []
    age_s = _evidence(case).slurmd_s
    # The head was asked first: what has started since was not there yet.
    if case.head.ports.get(case.name, "open") != "open" and (age_s is None or age_s >= _JUST_STARTED_S):
        what = f"slurmd runs here, but the head cannot connect to {case.node.address}, port 6818"
        findings.append(case.finding(kinds.NETWORK, what))
    if _evidence(case).controller != "open":
        head = case.cluster.head.name
        findings.append(case.finding(kinds.NETWORK, f"it cannot connect to slurmctld on {head}, port 6817"))
    return findings


def configuration(case: Case, found: Sequence[Finding]) -> list[Finding]:
    if case.name == case.cluster.head.name and case.head.edited:
        return [case.finding(kinds.EDITED_CONFIG, "files in /etc/slurm are not the ones that slurmctld loaded")]
    received = _evidence(case).sums
    other = [name for name, checksum in case.head.sums.items() if received.get(name) != checksum]
    if not case.computes or not other or found or case.head.edited:
        return []
    what = f"slurmd has another {', '.join(other)} than the head"
    return [case.finding(kinds.STALE_CONFIG, what, mend=mends.start(case.cluster, case.node, "slurmd"))]


RULES: tuple[Rule, ...] = (
    clock,
    munge,
    disk,
    shared_folder,
    memory,
    gpus,
    version,
    daemons,
    network,
    configuration,
)


def _has(found: Sequence[Finding], kind: kinds.Kind) -> bool:
    return any(finding.kind == kind.name for finding in found)


def _apart(ahead_s: float) -> str:
    return f"{abs(ahead_s):.0f} s {'ahead of' if ahead_s > 0 else 'behind'}"


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".") if part.isdigit())
