"""Slurm's trackable resources as text: `cpu=4,mem=8G,node=1,billing=4,gres/gpu=2,gres/gpu:rtx5090=2`."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MEMORY = {"K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}


@dataclass(frozen=True, slots=True)
class Tres:
    """The resources that matter for where a job fits."""

    cpus: int = 0
    memory_mib: int = 0
    nodes: int = 0
    gpus: int = 0
    gpu_type: str = ""


def parse_tres(text: str) -> Tres:
    """From what scontrol, squeue and sacct print; `(null)` and nothing are no resources."""
    found = dict(pair.partition("=")[::2] for pair in text.split(",") if "=" in pair)
    typed = {key.partition(":")[2]: value for key, value in found.items() if key.startswith("gres/gpu:")}
    return Tres(
        cpus=int(found.get("cpu", 0)),
        memory_mib=parse_memory_mib(found.get("mem", "0")),
        nodes=int(found.get("node", 0)),
        gpus=int(found.get("gres/gpu", 0)) or sum(map(int, typed.values())),
        gpu_type=next(iter(typed), ""),
    )


def parse_memory_mib(text: str) -> int:
    """`7424M`, `1.50G` or `60580K`; a bare number is mebibytes in Slurm, and old releases say per what: `4Gn`."""
    match = re.match(r"(\d+(?:\.\d+)?)([KMGTP]?)", text)
    return round(float(match[1]) * _MEMORY[match[2] or "M"]) if match else 0
