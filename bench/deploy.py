"""How fast a deployment is, side by side with Ansible: `python -m bench.deploy`, as root.

For each number of hosts and each tool, on freshly booted machines with Slurm's packages and no configuration:

(a) from the start of the tool's process to the end of the first `srun` over all nodes;
(b) the same command again, when there is nothing to do;
(c) the tool's look without touching: `corral plan`, `ansible-playbook --check`.

All are wall times of real processes. Tools and sizes take turns within each repetition. After Ansible,
`corral plan` must find nothing to do: both tools lead to the same cluster.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.machines import Bed
from bench.results import provenance, spread, table, write_section
from bench.tools import Ansible, Command, Corral, Tool, output

_FOLDER = Path("/var/tmp/corral-bench")
_PHASES = {"a": "first `srun` on all nodes", "b": "again, nothing to do", "c": "look only"}
_ENOUGH = 3
_QUICK_COMMANDS = 5
"""How often Corral's (b) and (c) are taken per repetition; Ansible's once, for they take a minute."""

_METHOD = (
    "Machines: local ones (systemd, sshd), booted, Slurm's packages installed, nothing configured. "
    "Medians of {repeat} repetitions, extremes in brackets; Corral's (b) and (c) {often} times in each."
)
_ANSIBLE = (
    "Ansible: pipelining, ControlPersist, a fork per host, no facts gathered, files rendered beforehand. "
    "Afterwards `corral plan` found nothing to do."
)


@dataclass(frozen=True, slots=True)
class Options:
    """What to measure."""

    sizes: tuple[int, ...]
    repeat: int
    release: str


@dataclass(slots=True)
class Samples:
    """Seconds by tool, number of hosts and phase, as they were taken."""

    seconds: dict[tuple[str, int, str], list[float]] = field(default_factory=dict)

    def add(self, tool: str, hosts: int, phase: str, seconds: float) -> None:
        self.seconds.setdefault((tool, hosts, phase), []).append(seconds)
        print(f"  {tool:8}{hosts:3} hosts  ({phase}) {seconds:7.2f} s", flush=True)

    def median(self, tool: str, hosts: int, phase: str) -> float:
        return statistics.median(self.seconds[tool, hosts, phase])


def main() -> None:
    """Measure and print; write the section of RESULTS.md when there are enough repetitions for a median."""
    options = _options()
    # Clusters of a name of their own in a state folder of their own never meet those of the user.
    os.environ.setdefault("CORRAL_STATE", str(_FOLDER / "state"))
    corral, ansible = Corral(), Ansible(_FOLDER / "ansible")
    load = os.getloadavg()[0]
    versions = [f"Corral {corral.version()}", f"ansible-core {ansible.version()}"]
    samples = Samples()
    slurm = ""
    for repetition in range(options.repeat):
        for size in options.sizes:
            print(f"repetition {repetition + 1} of {options.repeat}, {size} hosts", flush=True)
            bed = Bed(f"bench{size}", size, options.release)
            try:
                _measure(corral, bed, samples, again=_QUICK_COMMANDS)
                _measure(ansible, bed, samples, again=1)
                _check_same_end_state(bed)
                slurm = output(Command(bed.on_head("srun", "--version"))).split()[-1]
            finally:
                ansible.finish()
                bed.remove()
    body = report(options, samples, [*versions, f"Slurm {slurm} ({options.release})"], load)
    print(f"\n{body}")
    if options.repeat >= _ENOUGH:
        write_section("Deployment", body)
    else:
        print(f"\nNot written down: that takes at least {_ENOUGH} repetitions.")


def _measure(tool: Tool, bed: Bed, samples: Samples, *, again: int) -> None:
    bed.make_bare()
    tool.prepare(bed)
    first = Command(bed.on_head("srun", f"-N{bed.hosts}", "hostname"))
    samples.add(tool.name, bed.hosts, "a", _timed(tool.deploy(bed), first))
    for _ in range(again):
        samples.add(tool.name, bed.hosts, "b", _timed(tool.deploy(bed)))
    for _ in range(again):
        samples.add(tool.name, bed.hosts, "c", _timed(tool.look(bed)))
    tool.finish()


def _timed(*commands: Command) -> float:
    began = time.monotonic()
    for command in commands:
        output(command)
    return time.monotonic() - began


def _check_same_end_state(bed: Bed) -> None:
    steps = bed.plan().steps
    left = [
        f"{step.host}: {step.step}: {step.change.summary if step.change else ''}"
        for step in steps
        if step.verdict != "ok"
    ]
    if left:
        raise SystemExit("the playbook does not lead to the same end state:\n" + "\n".join(left))
    print(f"  the same end state: Corral finds all {len(steps)} steps right", flush=True)


def report(options: Options, samples: Samples, versions: Sequence[str], load: float) -> str:
    """The section's text: provenance, the table, and Corral's growth from the smallest to the largest size."""
    rows = [
        [
            f"({phase}) {words}",
            str(size),
            spread(samples.seconds["Corral", size, phase]),
            spread(samples.seconds["Ansible", size, phase]),
            f"{samples.median('Ansible', size, phase) / samples.median('Corral', size, phase):.0f}×",
        ]
        for phase, words in _PHASES.items()
        for size in options.sizes
    ]
    parts = [
        provenance("bench.deploy", versions, load),
        f"- {_METHOD.format(repeat=options.repeat, often=_QUICK_COMMANDS)}",
        f"- {_ANSIBLE}",
        "",
        table(["", "hosts", "Corral", "Ansible", "ratio"], rows),
    ]
    small, large = options.sizes[0], options.sizes[-1]
    if small != large:
        growth = {
            phase: samples.median("Corral", large, phase) / samples.median("Corral", small, phase) for phase in _PHASES
        }
        words = ", ".join(f"({phase}) {factor:.2f}" for phase, factor in growth.items())
        parts += ["", f"Corral on {large} hosts takes, as a multiple of {small} hosts: {words}."]
    return "\n".join(parts)


def _options() -> Options:
    parser = argparse.ArgumentParser(prog="python -m bench.deploy", description="Deployment speed, Corral and Ansible.")
    parser.add_argument("--hosts", default="3,8", help="numbers of hosts, such as 3,8")
    parser.add_argument("--repeat", type=int, default=3, help="how often everything is measured")
    parser.add_argument("--release", default="trixie", help="the machines' Debian release")
    parser.add_argument("--quick", action="store_true", help="a smoke run: 3 hosts, once, nothing written")
    given = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("making machines needs root: run the command again with sudo")
    if given.quick:
        return Options((3,), 1, given.release)
    return Options(tuple(sorted(int(size) for size in given.hosts.split(","))), given.repeat, given.release)


if __name__ == "__main__":
    main()
