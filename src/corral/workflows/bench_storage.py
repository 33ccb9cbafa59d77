"""`corral bench storage`: the folder that all nodes share, timed from each of them."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace

from corral.errors import InputError
from corral.jobs.desk import Desk
from corral.measure.records import Record
from corral.measure.send import Notice, gauge
from corral.measure.storage import StorageReport, report_of
from corral.workflows.bench import Place, usable_nodes
from corral.workflows.desk import open_desk


async def bench_storage(
    folder: str, size_bytes: int, files: int, place: Place, notice: Notice, on_record: Callable[[Record], None]
) -> StorageReport:
    """Run it in a folder of its own below the one that is named, or below the person's jobs."""
    async with open_desk(place.cluster, place.user) as desk:
        names = await usable_nodes(desk, place.resources.partition)
        resources = replace(place.resources, nodes=place.nodes or len(names))
        below = await _below(desk, folder)
        own = f"{below}/.corral-bench-{secrets.token_hex(4)}"
        arguments = [own, f"--size-bytes={size_bytes}", f"--files={files}"]
        records = []
        try:
            told = gauge(desk, "corral.gauges.storage", arguments, resources, "", ddp=False, notice=notice)
            async with aclosing(told):
                async for record in told:
                    on_record(record)
                    records.append(record)
        finally:
            # The gauge does so itself; a node that died could not.
            await desk.run(f"rm -rf {shlex.quote(own)}", timeout_s=300)
        return report_of(records, desk.site.cluster, below)


async def _below(desk: Desk, folder: str) -> str:
    if not folder:
        await desk.must(f"umask 077; mkdir -p {shlex.quote(desk.home.path)}")
        return desk.home.path
    if not folder.startswith("/"):
        raise InputError(f"--folder {folder}: write the whole path, as the nodes see it")
    if not (await desk.run(f"[ -d {shlex.quote(folder)} ] && [ -w {shlex.quote(folder)} ]")).ok:
        raise InputError(f"--folder {folder}: there is no such folder that {desk.user} may write to")
    return folder.rstrip("/")
