"""Runs a distributed job's part on one node: `python3 -m corral.inside.torchrun COMMAND…`, once per node.

Expects what Slurm sets in a step (SLURM_NNODES, SLURM_NODEID, SLURMD_NODENAME) and MASTER_ADDR and MASTER_PORT from the
batch script. Starts torchrun with as many ranks as the step has GPUs here. torchrun cannot pass on that ranks want to
run again (exit code 85), so this does, from what each rank has left behind.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

from corral.checkpoint import AGAIN
from corral.inside import interface, verdict


def main(command: list[str]) -> int:
    """Run this node's ranks to their end."""
    launcher = _launcher()
    if launcher is None:
        sys.stderr.write(
            "corral: no torchrun here: the job's environment has no PyTorch. Try: corral run --env VENV …\n"
        )
        return 127
    ranks = ranks_here(os.environ)
    environment = os.environ | network(os.environ) | threads(os.environ, ranks)
    began = time.time()
    # Inherited by torchrun, which would die of Slurm's warning; the ranks take it themselves.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    # A handler, not SIG_IGN, which torchrun would inherit: Slurm has sent it to torchrun as well.
    signal.signal(signal.SIGTERM, _wait_on)
    code = subprocess.run([*launcher, *arguments(os.environ, ranks), *command], env=environment, check=False).returncode
    first = int(os.environ.get("SLURM_NODEID", "0")) * ranks
    ended = verdict.codes(Path(os.environ["CORRAL_JOB_DIR"]), range(first, first + ranks), since=began)
    if len(ended) == ranks and AGAIN in ended and set(ended) <= {0, AGAIN}:
        return AGAIN
    return code if code >= 0 else 128 - code


def arguments(environment: Mapping[str, str], ranks: int) -> list[str]:
    """What torchrun is told, up to the user's command."""
    return [
        f"--nnodes={environment.get('SLURM_NNODES', '1')}",
        f"--node-rank={environment.get('SLURM_NODEID', '0')}",
        f"--nproc-per-node={ranks}",
        f"--master-addr={environment['MASTER_ADDR']}",
        f"--master-port={environment['MASTER_PORT']}",
        "--no-python",
        "--",  # before Python 3.12 argparse would take the script's own `--n` for one of torchrun's
        *(sys.executable, "-m", "corral.inside.rank"),
    ]


def ranks_here(environment: Mapping[str, str]) -> int:
    """One rank for each GPU that the step has on this node, or one without any."""
    visible = environment.get("CUDA_VISIBLE_DEVICES", "")
    return max(1, len([gpu for gpu in visible.split(",") if gpu.strip() and gpu != "NoDevFiles"]))


def network(environment: Mapping[str, str]) -> dict[str, str]:
    """Keeps NCCL and gloo on the cluster's network, unless the user has chosen; they would take the first interface."""
    name = interface.towards_cluster(environment.get("SLURMD_NODENAME", ""), environment["MASTER_ADDR"])
    wanted = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME") if name else ()
    return {variable: name or "" for variable in wanted if variable not in environment}


def threads(environment: Mapping[str, str], ranks: int) -> dict[str, str]:
    """A rank's share of the cores; torchrun's own default is one thread."""
    if "OMP_NUM_THREADS" in environment:
        return {}
    return {"OMP_NUM_THREADS": str(max(1, len(os.sched_getaffinity(0)) // ranks))}


def _launcher() -> list[str] | None:
    if importlib.util.find_spec("torch") is not None:
        return [sys.executable, "-m", "torch.distributed.run"]
    found = shutil.which("torchrun")
    return [found] if found else None


def _wait_on(_number: int, _frame: FrameType | None) -> None:
    pass


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
