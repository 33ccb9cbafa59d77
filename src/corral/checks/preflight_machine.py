"""Each machine by itself: whether it is fit to become part of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from corral.checks.evidence import Evidence
from corral.checks.finding import Finding

_GIB = 1 << 30
_ROOM_TO_INSTALL = 1 * _GIB
_PORTS: Mapping[int, tuple[str, str]] = {
    6817: ("head", "slurmctld"),
    6818: ("compute", "slurmd"),
    6819: ("head", "slurmdbd"),
    6820: ("head", "slurmrestd"),
}
_SUPPORTED: Mapping[str, tuple[int, int]] = {"debian": (12, 0), "ubuntu": (22, 4)}
_SUPPORTED_WORDS = "Debian 12, 13 and later, Ubuntu 22.04, 24.04 and later"


def supported_system(evidence: Evidence) -> Iterator[Finding]:
    for name in evidence.surveys:
        facts = evidence.facts[name]
        oldest = _SUPPORTED.get(facts.os)
        # Debian's testing and unstable have no number: they are newer than everything that has one.
        if oldest is None or (facts.os_version and _version(facts.os_version) < oldest):
            yield Finding(
                "error",
                name,
                f"it runs {facts.os_name or 'an unknown system'}, for which Corral has no Slurm packages",
                f"install one of {_SUPPORTED_WORDS} on it, or take it out of the cluster file",
            )


def room_on_disk(evidence: Evidence) -> Iterator[Finding]:
    for name, survey in evidence.surveys.items():
        bare = evidence.facts[name].slurm_version is None
        places = {free: place for place, free in sorted(survey.free_bytes.items(), reverse=True)}
        for free, place in places.items():
            if free < _ROOM_TO_INSTALL:
                yield Finding(
                    "error" if bare else "warning",
                    name,
                    f"only {free / _GIB:.1f} GiB are free on {place}"
                    + (f"; the packages need {_ROOM_TO_INSTALL // _GIB} GiB" if bare else ""),
                    "make room: apt-get clean, journalctl --vacuum-size=100M, or a larger disk",
                )


def ports(evidence: Evidence) -> Iterator[Finding]:
    for name, survey in evidence.surveys.items():
        for port, program in survey.ports.items():
            role, ours = _PORTS[port]
            if role in evidence.spec.roles(name) and program != ours:
                yield Finding(
                    "error",
                    name,
                    f"port {port}, which {ours} needs, is taken by {program or 'an unknown program'}",
                    f"stop that program or give it another port (ss -ltnp 'sport = :{port}' on {name} shows it)",
                )


def foreign_slurm(evidence: Evidence) -> Iterator[Finding]:
    for name, survey in evidence.surveys.items():
        for conf in survey.slurm_confs:
            if conf.is_ours and conf.cluster == evidence.spec.name:
                continue
            whose = f"of the cluster '{conf.cluster}'" if conf.cluster else "that Corral did not set up"
            yield Finding(
                "error",
                name,
                f"there is a Slurm {whose} on it: {conf.path}",
                "if it is not needed any more, stop its daemons and move that file away; "
                "otherwise leave the machine out of this cluster",
            )
        if survey.foreign_packages:
            yield Finding(
                "error",
                name,
                f"Slurm packages of another make are installed: {', '.join(survey.foreign_packages)}",
                "remove them (apt-get remove), because they hold the same files as the distribution's own",
            )


def gpus(evidence: Evidence) -> Iterator[Finding]:
    for name in evidence.surveys:
        wanted, facts = evidence.spec.machines[name].gpus, evidence.facts[name]
        if evidence.spec.gpu.driver is not None and not facts.nvidia_driver:
            # Corral is about to install the driver: until then nothing can be said.
            continue
        usable, plugged = len(facts.gpus), facts.nvidia_gpus_on_pci
        no_driver = " (no NVIDIA driver is loaded)" if plugged and not facts.nvidia_driver else ""
        if wanted is not None and wanted.count > usable:
            yield Finding(
                "error",
                name,
                f"the cluster file has {wanted.count} GPUs for it, {usable} can be used{no_driver}",
                "look with nvidia-smi; let corral up install the driver (gpu.driver), or correct gpus in the file",
            )
        elif plugged > usable and not facts.gpus_are_simulated:
            yield Finding(
                "warning",
                name,
                f"{plugged} NVIDIA GPUs are plugged in, {usable} can be used{no_driver}",
                "install NVIDIA's driver, or let corral up do it (gpu.driver in the cluster file)",
            )


def package_mirror(evidence: Evidence) -> Iterator[Finding]:
    for name, survey in evidence.surveys.items():
        if survey.mirror == "unreachable":
            what = f"packages are missing and {survey.mirror_uri} cannot be fetched"
            yield Finding(
                "error",
                name,
                what if survey.mirror_uri else "packages are missing and apt has no package source",
                "check /etc/apt/sources.list, the proxy and the name server with: apt-get update",
            )


def containers(evidence: Evidence) -> Iterator[Finding]:
    """Rootless containers need user namespaces; nothing else of the cluster does."""
    for name, survey in evidence.surveys.items():
        if "compute" not in evidence.spec.roles(name):
            continue
        for key, bad, good in (
            ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
            ("kernel/unprivileged_userns_clone", "0", "1"),
            ("user/max_user_namespaces", "0", "65536"),
        ):
            setting = key.replace("/", ".")
            if survey.sysctls.get(key) == bad:
                yield Finding(
                    "warning",
                    name,
                    f"users cannot make user namespaces ({setting}={bad}), so containers in jobs may not start",
                    f"if jobs are to use containers: echo {setting}={good} > /etc/sysctl.d/90-containers.conf, "
                    f"then sysctl --system",
                )


def _version(text: str) -> tuple[int, int]:
    major, _, minor = text.partition(".")
    return int(major) if major.isdigit() else 0, int(minor) if minor.isdigit() else 0
