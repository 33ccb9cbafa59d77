"""Which of a job's processes this one is, and how they agree."""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

_THREADS = Path("/proc/self/task")
_WORKER = "pt_gloo_runloop"  # torch's name for the threads that do a gloo group's work
_SETTLE_S = 2.0
_LOOK_S = 0.005


def say(line: str) -> None:
    """One line for the job's log, from the first process only."""
    if rank() == 0:
        sys.stderr.write(f"corral: {line}\n")
        sys.stderr.flush()


def rank() -> int:
    """Number of this process in the job; 0 saves, reports and speaks for all."""
    distributed = _distributed()
    if distributed is not None:
        return int(distributed.get_rank())
    for name in ("RANK", "SLURM_PROCID"):
        if os.environ.get(name, "").isdecimal():
            return int(os.environ[name])
    return 0


def size() -> int:
    """How many processes agree with each other: 1 without torch.distributed."""
    distributed = _distributed()
    return 1 if distributed is None else int(distributed.get_world_size())


def announced_size() -> int:
    """How many there will be: a script may set torch.distributed up only after it has restored its state."""
    announced = os.environ.get("WORLD_SIZE", "")
    return max(size(), int(announced) if announced.isdecimal() else 1)


def highest(values: Sequence[int]) -> list[int]:
    """The highest of each value over all processes: one all-reduce, which also waits for everybody."""
    distributed = _distributed()
    if distributed is None:
        return list(values)
    torch: Any = sys.modules["torch"]
    # NCCL moves GPU memory only; every other backend takes the CPU's.
    device = "cuda" if distributed.get_backend() == "nccl" else "cpu"
    tensor = torch.tensor(list(values), dtype=torch.int64, device=device)
    distributed.all_reduce(tensor, op=distributed.ReduceOp.MAX)
    return [int(value) for value in tensor.tolist()]


def collect(value: Any) -> list[Any]:
    """Everybody's value, by rank. Meant for a few kilobytes."""
    distributed = _distributed()
    if distributed is None:
        return [value]
    values: list[Any] = [None] * size()
    distributed.all_gather_object(values, value)
    return values


def settle_at_exit() -> None:
    """Have this process wait at its end until gloo's threads are done with what they were given.

    They let go of a tensor a moment after whoever waited for it has gone on, and need Python for that: if it is already
    being taken apart, it ends the thread, which aborts the process, and a job that has done all its work has failed.
    Destroying the group does not help as long as anybody, such as a DDP model, still refers to it.
    """
    atexit.unregister(_settle)
    atexit.register(_settle)


def _settle() -> None:
    if "torch" not in sys.modules or not _THREADS.is_dir():
        return
    deadline = time.monotonic() + _SETTLE_S
    quiet = 0
    while quiet < 2 and time.monotonic() < deadline:
        time.sleep(_LOOK_S)  # whoever waits for Python gets it now
        quiet = 0 if any(_is_busy(thread) for thread in _THREADS.iterdir()) else quiet + 1


def _is_busy(thread: Path) -> bool:
    try:
        return (thread / "comm").read_text().strip() == _WORKER and ") S " not in (thread / "stat").read_text()
    except OSError:  # it has ended
        return False


def leave(code: int) -> NoReturn:
    """End this process as sys.exit does, but in a group without the last act, in which libraries are taken apart."""
    if size() > 1:
        # Seen with gloo: a peer that goes first lets the others abort there, with another exit code.
        atexit.register(_leave_now, code)
    sys.exit(code)


def _leave_now(code: int) -> None:
    # Registered last, so called first: what others have registered still has to run.
    atexit.unregister(_leave_now)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _distributed() -> Any:
    # Only what the script itself has imported and set up: importing torch here would cost seconds.
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed
