"""A gauge on this very machine, without Slurm: how fast it is before there is a cluster."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from pathlib import Path

import corral
from corral.errors import InputError
from corral.hosts.base import Completed
from corral.hosts.local import LocalHost
from corral.measure.records import Record, Records
from corral.measure.send import GaugeFailed

_NO_TORCH_CODE = 127
_LIMIT_S = 6 * 3600.0

# The ranks are counted by the same Python that runs them: it may see other GPUs than this one.
_SCRIPT = """
export PYTHONPATH={library}${{PYTHONPATH:+:$PYTHONPATH}} PYTHONUNBUFFERED=1
export OMP_NUM_THREADS=${{OMP_NUM_THREADS:-1}} GLOO_SOCKET_IFNAME=${{GLOO_SOCKET_IFNAME:-lo}}
ranks=$({python} -c 'import torch; print({ranks} or torch.cuda.device_count() or 1)' 2>/dev/null) || exit {no_torch}
exec {python} -m torch.distributed.run --standalone --nproc-per-node="$ranks" --no-python {python} -m {command}
"""


async def gauge_here(
    module: str, arguments: Sequence[str], environment: str = "", *, ranks: int = 0
) -> AsyncGenerator[Record, None]:
    """What a gauge tells with one process per GPU that is seen here, or with one, or with as many as `ranks`."""
    python = str(Path(environment, "bin/python")) if environment else sys.executable
    script = _SCRIPT.format(
        library=shlex.quote(str(Path(corral.__file__).parent.parent)),
        ranks=ranks,
        python=shlex.quote(python),
        no_torch=_NO_TORCH_CODE,
        command=shlex.join([module, *arguments]),
    )
    lines: asyncio.Queue[str | None] = asyncio.Queue()
    work = asyncio.ensure_future(_to_its_end(script, lines))
    records = Records()
    try:
        while (line := await lines.get()) is not None:
            for record in records.take(f"{line}\n".encode()):
                yield record
        done = await work
    finally:
        # Whoever stops listening ends it; its processes are killed on the way out.
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work
    if done.exit_code == _NO_TORCH_CODE:
        raise InputError(f"{python} has no PyTorch. Try: --env with an environment that has it")
    if not done.ok:
        said = [line for line in records.words if line.strip()][-12:]
        raise GaugeFailed("\n".join([f"{module} failed here (exit code {done.exit_code})", *said]))


async def _to_its_end(script: str, lines: asyncio.Queue[str | None]) -> Completed:
    try:
        return await LocalHost().run(script, timeout_s=_LIMIT_S, on_line=lines.put_nowait)
    finally:
        lines.put_nowait(None)
