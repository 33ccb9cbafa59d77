"""Ranks of a training as real processes on this machine, which talk over the loopback interface."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path
from typing import Any

from tests.unit.inside.scripts import SOURCES, python_with_torch


def run_ranks(size: int, script: Path, *arguments: str) -> tuple[list[dict[str, Any]], str]:
    """Run a script as so many ranks: what each one printed as JSON, and all that they said."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "CORRAL"))},
        "PYTHONPATH": f"{SOURCES}:{SOURCES.parent}",
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "WORLD_SIZE": str(size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    processes = [
        subprocess.Popen(
            [python_with_torch(), str(script), *arguments],
            env=common | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]
    try:
        ended = [process.communicate(timeout=240) for process in processes]
    finally:
        for process in processes:
            process.kill()
    said = "".join(words for _, words in ended)
    assert all(process.returncode == 0 for process in processes), said
    return [json.loads(output) for output, _ in ended], said
