"""A cluster to send work to."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import shlex
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from corral.api import options as given
from corral.api.background import Background
from corral.api.calls import INSIDE, pickled, pickled_map
from corral.api.job import Job
from corral.api.options import Options
from corral.api.poller import Poller
from corral.api.sweep import Sweep
from corral.errors import InputError
from corral.jobs.desk import Desk
from corral.jobs.outcome import Unit
from corral.jobs.submit import Prepared, Sent, send
from corral.jobs.sweep.sampling import distribution
from corral.jobs.sweep.space import Declaration, Trial, space, written
from corral.workflows.desk import open_desk
from corral.workflows.run import Ask, default_folder, prepare_job
from corral.workflows.sweep import find_sweep, prepare_sweep

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
Runnable = Callable[..., Any] | str | os.PathLike[str]


def connect(cluster: str | os.PathLike[str] | None = None, user: str | None = None) -> Cluster:
    """Reach a cluster: the one that this machine is of, or the one that a cluster file describes.

    It goes the same way as the commands do: see `corral run --help` about `cluster` and `user`.
    """
    return Cluster(None if cluster is None else os.fspath(cluster), user)


class Cluster:
    """Takes functions and scripts, and gives jobs. Close it, or use it in a `with` statement."""

    def __init__(self, cluster: str | None, user: str | None) -> None:
        self._background = Background()
        self._open = AsyncExitStack()
        try:
            self._desk: Desk = self._run(self._open.enter_async_context(open_desk(cluster, user)))
        except BaseException:
            self._background.stop()
            raise
        self._poller = Poller(self._desk)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<corral.Cluster {self._desk.site.cluster} as {self._desk.user}>"

    def close(self) -> None:
        """Hang up. Jobs go on."""
        self._run(self._poller.close())
        self._run(self._open.aclose())
        self._background.stop()

    def submit(
        self, what: Runnable, *args: Any, kwargs: Mapping[str, Any] | None = None, **options: Unpack[Options]
    ) -> Job:
        """Send a function with its arguments, or a script with its own, as a job."""
        return self._run(self._submit(what, args, kwargs or {}, options))

    def map(
        self,
        function: Callable[..., Any],
        *iterables: Iterable[Any],
        at_most: int | None = None,
        **options: Unpack[Options],
    ) -> list[Job]:
        """Send a function once per item, as one job array; `at_most` of them run at a time."""
        calls = list(zip(*iterables, strict=True))
        return self._run(self._map(function, calls, at_most, options)) if calls else []

    def sweep(
        self,
        script: str | os.PathLike[str],
        *args: str,
        grid: Mapping[str, Sequence[Any]] | None = None,
        random: Mapping[str, str] | None = None,
        trials: int | None = None,
        seed: int | None = None,
        rows: Sequence[Mapping[str, Any]] = (),
        at_most: int | None = None,
        **options: Unpack[Options],
    ) -> Sweep:
        """Run a script once per combination of settings, which it gets as `--name value`.

        `random` is written as on the command line, such as `{"lr": "log:1e-5..1e-1"}`, and needs `trials`.
        """
        declared = Declaration(
            grid={name: [written(value) for value in values] for name, values in (grid or {}).items()},
            random={name: distribution(f"random {name}", text) for name, text in (random or {}).items()},
            rows=[tuple((name, written(value)) for name, value in row.items()) for row in rows],
            trials=trials,
            seed=seed,
        )
        return self._run(self._sweep((os.fspath(script), *args), space(declared).trials, at_most, options))

    def find_sweep(self, which: str | None = None) -> Sweep:
        """A sweep that was sent before, by the number of one of its jobs; without it, the latest."""
        return Sweep(self, self._run(find_sweep(self._desk, which)))

    def wait(self, jobs: Iterable[Job], timeout: float | None = None) -> list[int]:
        """Wait for all of them to end, well or not; their exit codes."""
        return [end.exit_code for end in self._run(self._ends(list(jobs)), timeout)]

    def _run(self, work: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        return self._background.run(work, timeout)

    def _start(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        return self._background.start(work)

    async def _ends(self, jobs: Sequence[Job]) -> list[Any]:
        return list(await asyncio.gather(*(job._end() for job in jobs)))

    async def _submit(self, what: Runnable, args: tuple[Any, ...], kwargs: Mapping[str, Any], options: Options) -> Job:
        if not callable(what):
            if kwargs:
                raise InputError("a script has no keyword arguments; write them as its arguments: '--lr', '0.1'")
            wanted = self._ask((os.fspath(what), *map(str, args)), options)
            sent = await send(self._desk, await prepare_job(self._desk, wanted))
            return Job(self, Unit(sent.folder), sent.job_id, wanted.name or Path(os.fspath(what)).stem, returns=False)
        wanted = await self._ask_for_call(what, options)
        files = {"call.pkl": pickled(what, args, kwargs)}
        sent = await send(self._desk, await prepare_job(self._desk, wanted, files))
        return Job(self, Unit(sent.folder), sent.job_id, wanted.name, returns=True)

    async def _map(
        self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], at_most: int | None, options: Options
    ) -> list[Job]:
        wanted = await self._ask_for_call(function, options)
        files = {"calls.pkl": pickled_map(function, calls)}
        trials = tuple(Trial(index, ()) for index in range(len(calls)))
        sent = await self._send(await prepare_sweep(self._desk, wanted, trials, at_most, files))
        return [
            Job(self, Unit(sent.folder, index), sent.job_id, wanted.name, returns=True) for index in range(len(calls))
        ]

    async def _sweep(
        self, command: tuple[str, ...], trials: Sequence[Trial], at_most: int | None, options: Options
    ) -> Sweep:
        sent = await self._send(await prepare_sweep(self._desk, self._ask(command, options), trials, at_most))
        return Sweep(self, await find_sweep(self._desk, sent.folder.token))

    async def _send(self, prepared: Prepared) -> Sent:
        return await send(self._desk, prepared)

    def _ask(self, command: tuple[str, ...], options: Options) -> Ask:
        given.check(options)
        folder = options["folder"] if "folder" in options else default_folder(command)
        return Ask(
            command=command,
            resources=given.resources(options),
            environment=options.get("env", ""),
            name=options.get("name", ""),
            ddp=options.get("ddp", False),
            after=tuple(job.id if isinstance(job, Job) else str(job) for job in options.get("after", ())),
            folder=None if folder is None else Path(folder).absolute(),
        )

    async def _ask_for_call(self, function: Callable[..., Any], options: Options) -> Ask:
        """A function needs the Python that it comes from: this very environment, where the cluster sees it."""
        own: Options = {"name": getattr(function, "__name__", "function").strip("<>"), **options}
        if "env" not in own and sys.prefix != sys.base_prefix:
            seen = await self._desk.run(f"[ -x {shlex.quote(sys.prefix)}/bin/python ]")
            own["env"] = sys.prefix if seen.ok else ""
        return self._ask(INSIDE, own)
