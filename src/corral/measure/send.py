"""A gauge as a job: sent, followed, its records as they come. Whoever stops listening ends the job."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import Path

from corral.errors import CorralError, InputError, SlurmUnavailable
from corral.jobs import environments
from corral.jobs.act import act
from corral.jobs.desk import Desk
from corral.jobs.follow import follow
from corral.jobs.outcome import End, Unit
from corral.jobs.request import Environment, JobRequest, Resources
from corral.jobs.snapshot import Snapshot, take
from corral.jobs.submit import Prepared, Sent, ask, prepare, send
from corral.measure.records import Record, Records

Notice = Callable[[str], None]
"""Takes what is worth a line while somebody waits: the job's number, why it has to wait."""

_LAST_LINES = 12
_RANK = re.compile(r"\[\d+\] .*\S")
_NO_TORCH = "has no PyTorch"
"""What `corral.inside.torchrun` says where there is none."""

NO_PROGRAM = "corral: there is no program "
"""What a job says that was told to run one that its node does not have."""


class GaugeFailed(CorralError):
    """A gauge did not come to its end; its last words are in the message."""


def say_nothing(_: str) -> None:
    """A notice that nobody reads."""


async def gauge(
    desk: Desk,
    module: str,
    arguments: Sequence[str],
    resources: Resources,
    environment: str,
    *,
    ddp: bool,
    variables: Mapping[str, str] | None = None,
    notice: Notice = say_nothing,
    folder: Path | None = None,
) -> AsyncGenerator[Record, None]:
    """What `python3 -m MODULE ARGUMENTS…` tells on the nodes; with `ddp` one process per GPU, set up by torchrun.

    It runs in a copy of `folder`, or in an empty one.
    """
    snapshot = None if folder is None else await take(folder)
    found = await ask(desk, resources, environment, snapshot)
    request = JobRequest(
        command=(environments.python(found.environment), "-m", module, *arguments),
        name=module.rpartition(".")[2],
        resources=found.resources,
        environment=found.environment,
        ddp=ddp,
        variables=dict(variables or {}),
    )
    records = Records()
    async for output in output_of(desk, request, notice, records.words, snapshot, has_code=found.has_code):
        for record in records.take(output):
            yield record


async def output_of(
    desk: Desk,
    request: JobRequest,
    notice: Notice,
    words: Sequence[str],
    snapshot: Snapshot | None = None,
    *,
    has_code: bool = False,
) -> AsyncGenerator[bytes, None]:
    """What a job prints, until it has ended well. Where it has not, `words` are what it said last."""
    sent = await _sent(desk, prepare(desk, request, snapshot, has_code=has_code), notice)
    waits_for = ""
    try:
        async for glance in follow(desk, Unit(sent.folder)):
            state, _, reason = glance.state.partition(" ")
            if state == "PENDING" and reason not in ("", "None", waits_for):
                waits_for = reason
                notice(f"job {sent.job_id} waits: {reason}")
            yield glance.output
            if glance.end is not None and glance.end.exit_code != 0:
                raise _failed(glance.end, request.environment, words)
    except (asyncio.CancelledError, GeneratorExit):
        await _cancel(desk, sent, notice)
        raise


async def _sent(desk: Desk, prepared: Prepared, notice: Notice) -> Sent:
    """A job of which the number is known, so that it can be cancelled whenever somebody wants to."""
    sending = asyncio.ensure_future(send(desk, prepared))
    try:
        sent = await asyncio.shield(sending)
    except asyncio.CancelledError:
        await _cancel(desk, await sending, notice)
        raise
    if sent.job_id is None:
        # Nobody wants to know later how fast the cluster was.
        folder = shlex.quote(sent.folder.path)
        await desk.run(f"rm -rf {desk.home.open_mark(sent.folder.token)} {folder}")
        raise SlurmUnavailable(f"{desk.site.cluster}: Slurm's controller does not answer. Try: corral doctor")
    nodes = prepared.description.nodes
    notice(f"job {sent.job_id} on {nodes} node{'s' if nodes > 1 else ''}")
    return sent


async def _cancel(desk: Desk, sent: Sent, notice: Notice) -> None:
    if sent.job_id is not None:
        (outcome,) = await act(desk, "cancel", [str(sent.job_id)])
        notice(f"job {outcome.job}: {outcome.words}")


def _failed(end: End, environment: Environment, words: Sequence[str]) -> CorralError:
    if any(_NO_TORCH in line for line in words):
        where = environment.where or "the nodes' own Python"
        return InputError(f"{where} has no PyTorch. Try: --env with an environment that has it and that all nodes see")
    if missing := next((line for line in words if line.startswith(NO_PROGRAM)), ""):
        return InputError(missing.removeprefix("corral: "))
    # What ranks said themselves, if they did: torchrun and srun only say that one has failed.
    said = [line for line in words if _RANK.match(line)] or [line for line in words if line.strip()]
    how = f"exit code {end.exit_code}" if end.state == "FAILED" else end.state.lower().replace("_", " ")
    return GaugeFailed(
        "\n".join([f"job {end.label} failed ({how}). Try: corral logs {end.label}", *said[-_LAST_LINES:]])
    )
