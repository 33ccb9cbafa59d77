"""From bare machines to the first job, side by side with Ansible: `python -m bench.bare`, as root.

For each tool, on freshly booted machines with SSH and nothing of Slurm: from the start of the tool's process to
the end of the first `srun` over all nodes, packages downloaded and installed. Both tools get the packages from
the same mirror; afterwards `corral plan` must find nothing to do: both lead to the same cluster.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import yaml
from bench.machines import Bed
from bench.results import provenance, spread, table, write_section
from bench.tools import Ansible, Command, Corral, Tool, output

from corral.deploy.cluster import Cluster
from corral.hosts.machine import Machine
from corral.providers.local import LocalMachines
from corral.spec.load import load_cluster
from corral.workflows.state import ClusterState, cache_root

_FOLDER = Path("/var/tmp/corral-bench")
_ENOUGH = 3
_METHOD = (
    "- Fresh {release} machines with SSH; packages come from the distribution's mirror. "
    "Medians of {repeat}, extremes in brackets. Afterwards `corral plan` found nothing to do."
)


class BareBed(Bed):
    """Machines without Slurm's packages, known to the tools by their addresses, as an owner's are."""

    def __init__(self, name: str, hosts: int, release: str) -> None:
        super().__init__(name, hosts, release)
        assert self.spec.local is not None
        self._provider = LocalMachines(
            _FOLDER / name, cache_root(), f"{name}-machines", self.spec.local, contents="bare"
        )
        self._names = list(self.spec.machines)
        self._known: Cluster | None = None

    def make_bare(self) -> None:
        self.remove()
        machines = asyncio.run(self._provider.up(self._names, lambda _: None))
        state = ClusterState(self.spec.name)
        state.make()
        entries = {
            machine.name: {"address": machine.address, "key": str(machine.identity_file), "host_key": machine.host_key}
            for machine in machines
        }
        state.write(state.cluster_file, yaml.safe_dump({"name": self.spec.name, "machines": entries}).encode())
        self.spec = load_cluster(state.cluster_file)

    def remove(self) -> None:
        asyncio.run(self._provider.down())
        shutil.rmtree(ClusterState(self.spec.name).folder, ignore_errors=True)

    def machines(self) -> list[Machine]:
        return self._provider.machines()

    def on_head(self, *command: str) -> list[str]:
        return self.inside(super().on_head(*command))

    def inside(self, argv: Sequence[str]) -> list[str]:
        """The command as somebody in the machines' own network runs it."""
        return ["nsenter", f"--net={self.network_namespace}", *argv]

    def left_to_do(self) -> list[str]:
        """What Corral would still change."""
        look = CorralInside().look(self)
        steps = json.loads(output(Command([*look.argv, "--json"])))["steps"]
        return [f"{step['host']}: {step['step']}" for step in steps if step["verdict"] != "ok"]

    def cluster(self) -> Cluster:
        """With the facts of machines that have Slurm: taken once, for Ansible to start from."""
        if self._known is None:
            self._known = super().cluster()
        return self._known


class CorralInside(Corral):
    """Corral from within the machines' network."""

    def deploy(self, bed: Bed) -> Command:
        assert isinstance(bed, BareBed)
        return Command(bed.inside(super().deploy(bed).argv))

    def look(self, bed: Bed) -> Command:
        assert isinstance(bed, BareBed)
        return Command(bed.inside(super().look(bed).argv))


def measure(tool: Tool, bed: BareBed) -> float:
    """Seconds from bare machines to the first job on all of them."""
    bed.make_bare()
    tool.prepare(bed)
    first = Command(bed.on_head("srun", f"-N{bed.hosts}", "hostname"))
    began = time.monotonic()
    output(tool.deploy(bed))
    output(first)
    seconds = time.monotonic() - began
    tool.finish()
    left = bed.left_to_do()
    if left:
        raise SystemExit(f"{tool.name} does not lead to the wanted state: {', '.join(left)}")
    print(f"  {tool.name:8} {seconds:7.1f} s", flush=True)
    return seconds


def main() -> None:
    """Measure and print; write the section of RESULTS.md when there are enough repetitions for a median."""
    given = _options()
    os.environ.setdefault("CORRAL_STATE", str(_FOLDER / "state"))
    corral, ansible = CorralInside(), Ansible(_FOLDER / "ansible-bare", playbook="bare.yml")
    load = os.getloadavg()[0]
    seconds: dict[str, list[float]] = {corral.name: [], ansible.name: []}
    for repetition in range(given.repeat):
        print(f"repetition {repetition + 1} of {given.repeat}, {given.hosts} hosts", flush=True)
        bed = BareBed("bench-bare", given.hosts, given.release)
        try:
            seconds[corral.name].append(measure(corral, bed))
            bed.cluster()
            seconds[ansible.name].append(measure(ansible, bed))
        finally:
            ansible.finish()
            bed.remove()
    ratio = statistics.median(seconds[ansible.name]) / statistics.median(seconds[corral.name])
    cells = [f"{given.hosts} bare hosts to the first `srun`", *(spread(taken) for taken in seconds.values())]
    body = "\n".join(
        [
            provenance("bench.bare", [f"Corral {corral.version()}", f"ansible-core {ansible.version()}"], load),
            _METHOD.format(release=given.release, repeat=given.repeat),
            "",
            table(["", *seconds, "ratio"], [[*cells, f"{ratio:.1f}×"]]),
        ]
    )
    print(f"\n{body}")
    if given.repeat >= _ENOUGH:
        write_section("From bare machines", body)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.bare", description=__doc__)
    parser.add_argument("--hosts", type=int, default=3, help="the number of machines")
    parser.add_argument("--repeat", type=int, default=3, help="how often everything is measured")
    parser.add_argument("--release", default="trixie", help="the machines' Debian release")
    if os.geteuid() != 0:
        sys.exit("making machines needs root: run the command again with sudo")
    return parser.parse_args()


if __name__ == "__main__":
    main()
