"""Who a machine is: its hostname, and the names of all the others."""

from __future__ import annotations

import re
from dataclasses import dataclass

from corral.deploy.cluster import Cluster, Node
from corral.deploy.resources.files import File, text_diff, write_files
from corral.deploy.resources.script import Script
from corral.deploy.step import Change, Step

_BEGIN, _END = "# corral: begin", "# corral: end"
_BLOCK = re.compile(rf"{_BEGIN}\n.*?{_END}\n", re.DOTALL)


@dataclass(frozen=True, slots=True)
class HostsFile:
    """Keeps a block of /etc/hosts, so that names work without DNS; the rest of the file stays as it is."""

    addresses: tuple[tuple[str, str], ...]
    name: str = "hosts file"
    after: tuple[str, ...] = ()

    def probe(self) -> str:
        return "cat /etc/hosts"

    def wanted(self, current: str) -> str:
        """The file with our block at its end, and without loopback aliases for the cluster's names.

        Debian maps a machine's own name to 127.0.1.1; daemons that look themselves up would then tell the
        others an address that only works at home.
        """
        names = {name for name, _ in self.addresses}
        kept = [
            line
            for line in _BLOCK.sub("", current).splitlines()
            if not (line.startswith("127.") and names & set(line.split()[1:]))
        ]
        block = [_BEGIN, *(f"{address}\t{name}" for name, address in self.addresses), _END]
        return "\n".join([*kept, *block]) + "\n"

    def diff(self, observed: str) -> Change | None:
        wanted = self.wanted(observed)
        if observed == wanted:
            return None
        file = File("/etc/hosts", wanted.encode())
        return write_files([file], "list the machines in /etc/hosts", detail=text_diff(observed, wanted, file.path))


def steps(cluster: Cluster, node: Node) -> list[Step]:
    addresses = tuple((other.name, other.address) for other in cluster.nodes.values())
    return [
        HostsFile(addresses),
        Script(
            "hostname",
            look=f'[ "$(hostname)" = {node.name} ] && [ "$(cat /etc/hostname)" = {node.name} ] || hostname',
            act=f"echo {node.name} > /etc/hostname; hostname {node.name}",
            doing=f"name the machine {node.name}",
        ),
    ]
