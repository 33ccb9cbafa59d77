"""Real trainings with real torchrun and gloo on this machine: stopped, continued, broken."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from tests.unit.inside.scripts import SOURCES, python_with_torch, run

from corral.inside.verdict import failed_rank

EXAMPLE = SOURCES.parent / "examples/train_checkpointed.py"
STEPS = 40


def launch(job: Path, ranks: int, *command: str) -> subprocess.Popen[str]:
    """A job of one node, as its batch script starts it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    python = python_with_torch()
    return subprocess.Popen(
        [python, "-m", "corral.inside.torchrun", python, *command],
        env=os.environ
        | {"PYTHONPATH": str(SOURCES), "CORRAL_JOB_DIR": str(job), "PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1"}
        | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
        | {"CUDA_VISIBLE_DEVICES": ",".join(map(str, range(ranks)))},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def train(job: Path, ranks: int = 3) -> str:
    process = launch(job, ranks, str(EXAMPLE), "--ddp", f"--steps={STEPS}")
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 0, output
    return output


def losses(output: str) -> list[str]:
    return re.findall(r"^\[0\] (step \d+ loss .*)$", output, re.MULTILINE)


def process_of_rank(job: Path, rank: int) -> int:
    """The training itself, not the shim around it."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            variables = (folder / "environ").read_bytes().split(b"\0")
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        ours = {f"CORRAL_JOB_DIR={job}".encode(), f"RANK={rank}".encode()} <= set(variables)
        if ours and b"corral.inside" not in command:
            return int(folder.name)
    raise AssertionError(f"no process of rank {rank}")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A training of three ranks, of which only one was warned; and its output."""
    job = tmp_path_factory.mktemp("stopped")
    process = launch(job, 3, str(EXAMPLE), "--ddp", f"--steps={STEPS}", "--step-s=0.05")
    assert process.stdout is not None
    output = ""
    while "step 10 " not in output:
        line = process.stdout.readline()
        assert line, output
        output += line
    os.kill(process_of_rank(job, 1), signal.SIGUSR1)
    rest, _ = process.communicate(timeout=120)
    assert process.returncode == 85, output + rest
    return job, output + rest


def test_if_one_rank_is_warned_all_stop_at_the_same_step_and_continue_with_the_same_losses(
    stopped: tuple[Path, str], tmp_path: Path
) -> None:
    job, begun = stopped
    assert "corral: stopped by a warning to another rank at step" in begun
    assert "Traceback" not in begun
    assert [(job / f"ranks/{rank}.exit").read_text().split()[0] for rank in range(3)] == ["85"] * 3
    again = tmp_path / "again"
    shutil.copytree(job, again)
    continued = train(again)
    assert len(losses(begun)) < STEPS
    assert losses(begun) + losses(continued) == losses(train(tmp_path / "whole"))


def test_a_job_continues_on_another_number_of_ranks(stopped: tuple[Path, str], tmp_path: Path) -> None:
    job, begun = stopped
    again = tmp_path / "again"
    shutil.copytree(job, again)
    output = train(again, ranks=2)
    assert ", now on 2 ranks instead of 3" in output
    assert len(losses(begun) + losses(output)) == STEPS


# Twenty jobs of two ranks each. Nobody but who blocks gives Python to another thread, so that gloo's still want it when
# the script ends.
HASTY = """
import os, sys, torch
from corral import checkpoint
for number in range(20):
    rank = next((rank for rank in (0, 1) if not os.fork()), None)
    if rank is not None:
        break
    assert [os.wait()[1] for _ in (0, 1)] == [0, 0]
else:
    sys.exit()
state = checkpoint.restore({}, folder=f"{sys.argv[1]}/{number}")
torch.distributed.init_process_group("gloo", f"file://{sys.argv[1]}/meeting{number}", rank=rank, world_size=2)
still_used = torch.distributed.group.WORLD
sys.setswitchinterval(60)
torch.distributed.all_gather_object([None, None], "last words")
"""


def test_a_script_that_ends_right_after_its_last_exchange_has_not_failed(tmp_path: Path) -> None:
    ended = subprocess.run(
        [python_with_torch(), "-c", HASTY, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": str(SOURCES), "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


BROKEN = """
import torch
from corral import checkpoint
torch.distributed.init_process_group("gloo")
state = checkpoint.restore({})
for step in state.steps(1000):
    if step == 3 and torch.distributed.get_rank() == 1:
        raise ValueError("rank one is broken")
    torch.distributed.all_reduce(torch.ones(4))
"""


def test_the_rank_that_broke_is_named_and_not_those_that_fell_with_it(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(BROKEN)
    process = launch(tmp_path, 3, str(tmp_path / "broken.py"))
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 1, output
    failure = failed_rank(tmp_path)
    assert failure is not None
    assert failure.rank == 1
    assert failure.words.startswith("Traceback (most recent call last):")
    assert "\nValueError: rank one is broken" in failure.words


# Stops itself after a number of batches, for good or until it is called again.
LOADER = """
    import os, signal, torch
    from corral import checkpoint
    from torch.utils.data import DataLoader, TensorDataset
    def losses(stop_after, folder):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Dropout())
        optimizer = torch.optim.Adam(model.parameters())
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        data = TensorDataset(torch.arange(24.0).reshape(8, 3))
        parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler, "average": torch.zeros(1)}
        state = checkpoint.restore(parts, folder=folder)
        for epoch in state.epochs(2):
            for batch, in state.batches(DataLoader(data, batch_size=2, shuffle=True)):
                loss = model(batch).sum()
                optimizer.zero_grad(); loss.backward(); optimizer.step()
                parts["average"] += loss.detach()
                found.append((loss.item(), parts["average"].item()))
                if len(found) == stop_after:
                    os.kill(os.getpid(), signal.SIGTERM)
            scheduler.step()
    found = []
    losses(0, "whole")
    whole = found
    for stop_after in range(1, 9):
        found = []
        try:
            losses(stop_after, str(stop_after))
        except SystemExit as stop:
            assert stop.code == 85 and len(found) == stop_after
        checkpoint.warning._received.clear()
        losses(0, str(stop_after))
        print(found == whole)
"""


def test_a_dataloader_continues_in_the_middle_of_its_shuffled_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, output, said = run(LOADER, None, python=python_with_torch())
    assert code == 0, said
    assert output.splitlines() == ["True"] * 8
