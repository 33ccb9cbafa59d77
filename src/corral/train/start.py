"""How a training begins: which of the job's processes this one is, its device, and the group that all of them form."""

from __future__ import annotations

import atexit
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from corral import checkpoint
from corral.inside import group, interface

_INFINIBAND = Path("/sys/class/infiniband")
# What lanes are to gloo: several sockets, served by several threads, for one ring over Ethernet.
_NCCL_SOCKETS = {"NCCL_SOCKET_NTHREADS": "4", "NCCL_NSOCKS_PERTHREAD": "4"}


@dataclass(frozen=True, slots=True)
class Run:
    """This process's place in the job."""

    rank: int
    size: int
    local_rank: int
    """Among the processes of this node: the number of its GPU."""
    device: Any
    backend: str
    """nccl, gloo, or nothing where this process is alone."""

    def restore(self, registered: dict[str, Any], **options: Any) -> checkpoint.State:
        """As `corral.checkpoint.restore`: register what a checkpoint holds, and continue from the newest."""
        return checkpoint.restore(registered, **options)


def init() -> Run:
    """Join the job's other processes, if there are any: as torchrun, srun or nobody at all has started this one."""
    place = placed(os.environ)
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", place.local_rank % torch.cuda.device_count()) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    if place.size == 1:
        return Run(0, 1, place.local_rank, device, "")
    os.environ.update(network(os.environ, place.master))
    backend = "nccl" if cuda else "gloo"
    if not dist.is_initialized():
        address = f"tcp://{place.master}:{place.port}"
        under_torchrun = "TORCHELASTIC_RUN_ID" in os.environ
        dist.init_process_group(
            backend, init_method="env://" if under_torchrun else address, rank=place.rank, world_size=place.size
        )
        group.settle_at_exit()
        atexit.register(_part)
    return Run(place.rank, place.size, place.local_rank, device, dist.get_backend())


def _part() -> None:
    """Scripts may end without a word, and NCCL wants to be let go while Python is whole."""
    if dist.is_initialized():
        dist.destroy_process_group()


@dataclass(frozen=True, slots=True)
class Place:
    """What the launcher said."""

    rank: int
    size: int
    local_rank: int
    master: str
    port: int


def placed(environment: Mapping[str, str]) -> Place:
    """By torchrun's words, else by those of a step that srun started, else alone."""
    if "WORLD_SIZE" in environment:
        master, port = environment.get("MASTER_ADDR", "127.0.0.1"), int(environment.get("MASTER_PORT", "29500"))
        rank = int(environment.get("RANK", "0"))
        return Place(rank, int(environment["WORLD_SIZE"]), int(environment.get("LOCAL_RANK", "0")), master, port)
    # Not SLURM_NTASKS: a batch script has it too, and is alone all the same.
    size = int(environment.get("SLURM_STEP_NUM_TASKS", "1"))
    if size == 1:
        return Place(0, 1, 0, "", 0)
    job, step = int(environment.get("SLURM_JOB_ID", "0")), environment.get("SLURM_STEP_ID", "0")
    # The batch script's own rendezvous takes the first of these ten ports.
    port = 20000 + job % 1000 * 10 + 5 + (int(step) % 5 if step.isdecimal() else 0)
    master = environment.get("MASTER_ADDR") or _first_host(environment["SLURM_STEP_NODELIST"])
    rank, local_rank = int(environment["SLURM_PROCID"]), int(environment["SLURM_LOCALID"])
    return Place(rank, size, local_rank, master, int(environment.get("MASTER_PORT", port)))


def network(environment: Mapping[str, str], master: str) -> dict[str, str]:
    """Settings for gloo and NCCL that the user has not made: the cluster's interface, and sockets enough to fill it."""
    name = interface.towards_cluster(environment.get("SLURMD_NODENAME", ""), master)
    wanted = {"NCCL_SOCKET_IFNAME": name, "GLOO_SOCKET_IFNAME": name} if name else {}
    if not (_INFINIBAND.is_dir() and any(_INFINIBAND.iterdir())):
        wanted |= _NCCL_SOCKETS
    return {variable: value for variable, value in wanted.items() if variable not in environment}


def _first_host(nodes: str) -> str:
    if "[" not in nodes:
        return nodes.split(",")[0]
    listed = subprocess.run(["scontrol", "show", "hostnames", nodes], capture_output=True, text=True, check=True)
    return listed.stdout.split()[0]
