"""A local cluster under test, driven by the command line as a user would."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from corral.hosts.machine import Machine
from corral.providers.local import LocalMachines
from corral.spec.load import load_cluster
from corral.spec.model import ClusterSpec

CORRAL = str(Path(sys.executable).parent / "corral")


@dataclass(frozen=True)
class Lab:
    """One cluster with its own state folder; the image cache is shared."""

    file: Path
    state: Path
    cache: Path
    prefix: tuple[str, ...] = ()
    """What to run `corral` under, such as nsenter."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """What else is in the operator's environment."""

    @property
    def spec(self) -> ClusterSpec:
        return load_cluster(self.file)

    @property
    def machines(self) -> LocalMachines:
        """The cluster's machines, for pulling cords."""
        spec = self.spec
        assert spec.local is not None
        return LocalMachines(self.state / "clusters" / spec.name / "local", self.cache, spec.name, spec.local)

    @property
    def environment(self) -> dict[str, str]:
        own = {"CORRAL_STATE": str(self.state), "CORRAL_CACHE": str(self.cache), "CORRAL_CLUSTER": str(self.file)}
        # How wide the terminal of whoever runs the tests is must not matter.
        others = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        return {**others, **own, **self.variables}

    def corral(self, *args: str, exit_code: int | None = 0, timeout_s: float = 180) -> str:
        """Run a command; its output, stderr included."""
        done = subprocess.run(
            [*self.prefix, CORRAL, *args],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        assert exit_code is None or done.returncode == exit_code, (
            f"corral {args} exited {done.returncode}:\n{done.stdout}"
        )
        return done.stdout

    def json(self, *args: str, exit_code: int | None = 0, timeout_s: float = 180) -> Any:
        """The report of a command as data: the last document it printed."""
        text = self.corral(*args, "--json", exit_code=exit_code, timeout_s=timeout_s)
        return json.loads(text.splitlines()[-1])["report"] if args[0] == "up" else json.loads(text)

    @contextmanager
    def while_up(self) -> Iterator[None]:
        """Up for as long as that, and down afterwards whatever happened."""
        try:
            self.corral("up", timeout_s=600)
            yield
        finally:
            self.corral("down")

    @contextmanager
    def start(self, *args: str) -> Iterator[subprocess.Popen[str]]:
        """A command running in the background, to be killed or watched line by line."""
        with subprocess.Popen(
            [*self.prefix, CORRAL, *args], env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        ) as process:  # fmt: skip
            try:
                yield process
            finally:
                process.kill()

    def ssh(self, node: str, command: str, exit_code: int | None = 0, timeout_s: float = 120) -> str:
        """Run a shell command on a machine as root."""
        return self.corral("ssh", node, command, exit_code=exit_code, timeout_s=timeout_s)

    def as_user(self, user: str, command: str, exit_code: int | None = 0) -> str:
        """Run a shell command on the head as a user of the cluster."""
        return self.ssh("node0", f"cd /shared && runuser -u {user} -- sh -c {shlex.quote(command)}", exit_code)


def make_lab(folder: Path, cache: Path, *, machines: int = 3, name: str, **sections: Any) -> Lab:
    """Write a cluster file for local machines; nothing is started."""
    file = folder / "cluster.yaml"
    content = {"name": name, "local": {}, "machines": {f"node{i}": {} for i in range(machines)}, **sections}
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    return Lab(file, folder / "state", cache)


def elsewhere(lab: Lab, folder: Path) -> Lab:
    """The same machines as an operator on another computer has them: by address, in a file without `local`."""
    return static_lab(lab.machines.machines(), folder, lab.cache, name=lab.spec.name)


def static_lab(machines: Sequence[Machine], folder: Path, cache: Path, *, name: str, **sections: Any) -> Lab:
    """Machines that exist, named by their addresses; the operator sits in their network."""
    file = folder / "static.yaml"
    entries = {
        machine.name: {"address": machine.address, "key": str(machine.identity_file), "host_key": machine.host_key}
        for machine in machines
    }
    file.write_text(yaml.safe_dump({"name": name, "machines": entries, **sections}, sort_keys=False))
    return Lab(file, folder / "elsewhere", cache, prefix=("nsenter", f"--net={machines[0].network_namespace}"))


def eventually(condition: Callable[[], object], within_s: float = 60, every_s: float = 0.3) -> None:
    """Wait until the condition holds; fail with the last exception or value after the deadline."""
    deadline = time.monotonic() + within_s
    while True:
        last: object = None
        try:
            last = condition()
            if last:
                return
        except AssertionError as problem:
            last = problem
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s} s: {last!r}")
        time.sleep(every_s)
