"""The machines beside each other: whether they fit together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from corral.checks.evidence import Evidence
from corral.checks.finding import Finding, Severity

_WARN_SKEW_S = 2.0
# Munge refuses messages that are five minutes off, and file times on shared storage mislead long before.
_ERROR_SKEW_S = 60.0


def clocks(evidence: Evidence) -> Iterator[Finding]:
    head = evidence.surveys.get(evidence.spec.head)
    if head is not None and abs(head.clock_offset_s) > _WARN_SKEW_S:
        yield _skew("warning", evidence.spec.head, head.clock_offset_s, "this computer's")
    for name, survey in evidence.surveys.items():
        off = survey.clock_offset_s - head.clock_offset_s if head else survey.clock_offset_s
        if abs(off) > _WARN_SKEW_S and name != evidence.spec.head:
            yield _skew(
                "error" if abs(off) > _ERROR_SKEW_S else "warning",
                name,
                off,
                "the head's" if head else "this computer's",
            )


def same_machine_twice(evidence: Evidence) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for name, survey in evidence.surveys.items():
        other = seen.setdefault(survey.machine_id, name) if survey.machine_id else name
        if other == name:
            continue
        if set(survey.addresses) & set(evidence.surveys[other].addresses):
            yield Finding(
                "error",
                name,
                f"it is the same machine as {other}: both are {survey.hostname} with the address {survey.addresses[0]}",
                f"correct the address of {name} or {other} in the cluster file, or remove one of them",
            )
        else:
            yield Finding(
                "warning",
                name,
                f"it has the same machine id as {other}, as machines copied from one disk have",
                "give it an id of its own: rm /etc/machine-id, systemd-machine-id-setup, then reboot",
            )


def host_names(evidence: Evidence) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for name, survey in evidence.surveys.items():
        own = survey.hostname.split(".")[0]
        if own != name and own in evidence.spec.machines:
            yield Finding(
                "warning",
                name,
                f"it calls itself {own}, which is another machine of the cluster file",
                f"check that the addresses of {name} and {own} are not swapped; if they are right, "
                f"corral up names it {name}",
            )
        elif own != name and (other := seen.setdefault(own, name)) != name:
            yield Finding(
                "warning",
                name,
                f"it calls itself {own}, and so does {other}",
                f"check that it is the machine you mean; if so, corral up names it {name}",
            )


def drivers(evidence: Evidence) -> Iterator[Finding]:
    found = {name: evidence.facts[name].nvidia_driver for name in evidence.surveys}
    versions = {name: version for name, version in found.items() if version}
    usual = max(Counter(versions.values()).items(), key=lambda item: (item[1], item[0]), default=("", 0))[0]
    for name, version in versions.items():
        if version != usual:
            example = next(other for other, theirs in versions.items() if theirs == usual)
            yield Finding(
                "warning",
                name,
                f"NVIDIA driver {version} here, {usual} on {example}",
                "install the same driver version everywhere: jobs across machines may fail otherwise",
            )


def _skew(severity: Severity, name: str, off_s: float, whose: str) -> Finding:
    return Finding(
        severity,
        name,
        f"its clock is {abs(off_s):.0f} s {'ahead of' if off_s > 0 else 'behind'} {whose}",
        "switch time synchronisation on: apt-get install systemd-timesyncd, then timedatectl set-ntp true",
    )
