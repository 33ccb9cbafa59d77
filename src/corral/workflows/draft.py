"""The first cluster file of machines that were just examined: complete, with what was found as comments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import yaml

from corral.hosts.machine import Machine
from corral.hosts.sshconfig import Destination, configured_key
from corral.workflows.init import Found

_GIB = 1 << 30
_HEADER = """\
# Written by `corral init`. `corral up` makes these machines a cluster, `corral plan` shows what that would change.
# Comments say what was found; what the file leaves out is found out again on every run.
# All keys: docs/cluster-file.md, or `corral schema` for editors.
"""
_HEAD_COMMENT = "The first machine is the head: it runs Slurm's controllers, and jobs as well."


def draft(cluster: str, found: Sequence[Found], *, key: Path | None, jump: str | None) -> str:
    """The file's text."""
    shared = _shared_ssh(found, key, jump)
    lines = [_HEADER, f"name: {cluster}"]
    if shared:
        lines.append(f"ssh: {_inline(shared)}")
    lines.append("machines:")
    for index, one in enumerate(found):
        lines += [f"  # {comment}" for comment in ([_HEAD_COMMENT] if index == 0 and len(found) > 1 else [])]
        lines += [f"  # {one.name}: {describe(one)}", f"  {one.name}: {_inline(_own(one, shared))}"]
    return "\n".join(lines) + "\n"


def describe(found: Found) -> str:
    """A machine in one line: system, CPUs, memory, GPUs with driver and CUDA, link."""
    parts = [
        system_in_words(found),
        f"{found.facts.cpus} CPUs",
        f"{found.facts.memory_bytes / _GIB:.0f} GiB",
        gpus_in_words(found) or "no GPU",
        links_in_words(found),
    ]
    return ", ".join(part for part in parts if part)


def system_in_words(found: Found) -> str:
    """`Debian 13`, without the parts that nobody needs to tell systems apart."""
    return found.facts.os_name.replace(" GNU/Linux", "").split(" (")[0]


def gpus_in_words(found: Found) -> str:
    """How many of which product; without a driver, what the PCI bus tells."""
    names: Sequence[str] = found.hardware.gpu_products
    if found.facts.gpus_are_simulated:
        names = [f"{gpu.type} (simulated)" for gpu in found.facts.gpus]
    elif not names:
        names = [f"NVIDIA GPU 10de:{device}" for device in found.hardware.pci_gpus]
    if not names:
        return ""
    words = ", ".join(f"{count}× {name}" for name, count in Counter(names).items())
    if found.facts.gpus_are_simulated:
        return words
    if not found.facts.nvidia_driver:
        return f"{words} without a driver"
    cuda = f", CUDA {found.hardware.cuda_version}" if found.hardware.cuda_version else ""
    return f"{words} (driver {found.facts.nvidia_driver}{cuda})"


def links_in_words(found: Found) -> str:
    """The interface that has the machine's address, and whatever is fast beside it."""
    words = []
    for link in found.hardware.links:
        used = found.machine.address in link.addresses or link.is_infiniband
        if link.is_up and used:
            rate = f" {link.rate_mbit / 1000:g} Gbit/s" if link.rate_mbit else ""
            words.append(f"{link.name}{rate}{' InfiniBand' if link.is_infiniband else ''}")
    return ", ".join(words)


def _shared_ssh(found: Sequence[Found], key: Path | None, jump: str | None) -> dict[str, object]:
    """What all machines have in common, less what is the default."""
    users, ports = {one.machine.user for one in found}, {one.machine.port for one in found}
    shared: dict[str, object] = {}
    if len(users) == 1 and users != {"root"}:
        shared["user"] = users.pop()
    if len(ports) == 1 and ports != {22}:
        shared["port"] = ports.pop()
    if key is not None:
        shared["key"] = str(key)
    if jump is not None:
        shared["jump"] = jump
    return shared


def _own(found: Found, shared: dict[str, object]) -> dict[str, object]:
    machine = found.machine
    own: dict[str, object] = {"address": machine.address}
    if "user" not in shared and machine.user != "root":
        own["user"] = machine.user
    if "port" not in shared and machine.port != 22:
        own["port"] = machine.port
    # By its address, ~/.ssh/config does not know the machine any more.
    if machine.ssh_config_name and machine.ssh_config_name != machine.address:
        named = configured_key(Destination(machine.ssh_config_name, machine.user, machine.port))
        if named is not None and "key" not in shared:
            own["key"] = str(named)
        if machine.jump is not None and "jump" not in shared:
            own["jump"] = _hops(machine.jump)
    return own


def _hops(jump: Machine) -> str:
    own = f"{jump.user}@{jump.address}:{jump.port}"
    return own if jump.jump is None else f"{_hops(jump.jump)},{own}"


def _inline(values: dict[str, object]) -> str:
    return yaml.safe_dump(values, default_flow_style=True, sort_keys=False, width=100_000).strip()
