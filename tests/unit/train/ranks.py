"""Ranks of a training as real processes on this machine, which talk over the loopback interface."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import textwrap
from pathlib import Path
from typing import Any

from tests.unit.inside.scripts import SOURCES, python_with_torch

from corral.checkpoint import AGAIN

# A small model, with a layer large enough for PowerSGD, that learns in double precision from data of each rank's own.
TRAINING = """
import json, os, signal, torch
from torch import nn
from corral import train
given = json.loads(os.environ["GIVEN"])
run = train.init()
torch.manual_seed(7)
model = nn.Sequential(nn.Linear(24, 48), nn.Tanh(), nn.Linear(48, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
sync = train.Synchronizer(model, optimizer, **given["options"])
state = run.restore({"model": model, "optimizer": optimizer, "sync": sync}, every_s=3600)
bare, model = model, sync.model
for step in state.steps(given["steps"]):
    draw = torch.Generator().manual_seed(1000 * step + run.rank)
    x = torch.randn(8, 24, generator=draw)
    loss = nn.functional.cross_entropy(model(x), x[:, :4].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(json.dumps({"step": step, "loss": loss.item().hex()}), flush=True)
    if step + 1 == given.get("stop") and run.rank == run.size - 1:
        os.kill(os.getpid(), signal.SIGUSR1)
sync.close()
print(json.dumps({"mode": sync.mode, "end": [p.double().sum().item().hex() for p in bare.parameters()]}))
"""


def run_ranks(size: int, script: str, job: Path | None = None, **given: Any) -> tuple[list[list[Any]], str]:
    """Run a script as so many ranks: the lines of JSON that each one printed, and all that they said."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "CORRAL"))},
        "PYTHONPATH": str(SOURCES),
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "GIVEN": json.dumps(given),
        "WORLD_SIZE": str(size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        **({"CORRAL_JOB_DIR": str(job)} if job is not None else {}),
    }
    processes = [
        subprocess.Popen(
            [python_with_torch(), "-c", textwrap.dedent(script)],
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
    assert all(process.returncode in (0, AGAIN) for process in processes), said
    return [[json.loads(line) for line in output.splitlines()] for output, _ in ended], said
