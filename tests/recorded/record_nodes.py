"""Record what a real head and node say: `python -m tests.recorded.record_nodes CLUSTER_FILE NODE NAME`.

Writes nodes/NAME.head.txt and nodes/NAME.machine.txt beside this file, for tests/unit/checks. Clocks are set to 0 and
the head's signed message is left out.
"""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

from corral.checks.node_evidence import head_script, machine_script, parse_head
from corral.workflows.machines import current_machines
from corral.workflows.session import open_session
from corral.workflows.state import find_cluster

FOLDER = Path(__file__).parent / "nodes"


async def record(file: str, node: str, name: str) -> None:
    spec = find_cluster(file)
    machines = current_machines(spec)
    async with open_session(spec, machines, lambda _: None) as session:
        addresses = {machine.name: machine.address for machine in machines}
        said = (await session.head.run(head_script(addresses))).stdout
        _write(f"{name}.head.txt", re.sub("(?m)^credential=.*", "credential=", said))
        head = parse_head(said, 0, 0)
        if node in session.hosts:
            script = machine_script(
                units=["munge", "slurmd"], devices=head.gpus[node], head=addresses[spec.head], mount="/shared"
            )
            machine = await session.hosts[node].run(script, stdin=f"{head.credential}\n".encode())
            _write(f"{name}.machine.txt", machine.stdout)


def _write(name: str, text: str) -> None:
    (FOLDER / name).write_text(re.sub("(?m)^clock=.*", "clock=0", text))


if __name__ == "__main__":
    asyncio.run(record(*sys.argv[1:4]))
