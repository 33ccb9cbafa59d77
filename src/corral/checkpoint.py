"""Checkpoints of a script that may be stopped at any time: saved, found again, continued.

    from corral import checkpoint

    state = checkpoint.restore({"model": model, "optimizer": optimizer})
    for step in state.steps(10_000):  # instead of range(10_000)
        ...

Between two steps the script is at a safe point. There, and never in a signal handler, a checkpoint is saved when
`every_s` seconds have passed, or when Slurm has warned that the job must end; then the script also ends with exit code
85, which makes Slurm queue the job again. The next run continues where this one stopped, random generators included.
A warning that comes before the first safe point of a run waits for it: a job that cannot finish one step never loops.

Rank 0 writes, and the others what they alone have (see `inside/parts.py`). With torch.distributed all ranks must leave
at the same step, though warnings reach them at different times: about once a second, at a step they have agreed on
before, they meet in one all-reduce of five integers.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterable, Iterator, Sized
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from corral.inside import files, group, parts, randomness, values, warning
from corral.inside.group import say
from corral.inside.meeting import Meeting, choose

__all__ = ["restore", "State", "AGAIN"]

AGAIN = 85  # the exit code with which a job asks to be queued again (slurm.conf: RequeueExit)

_KEPT = 2  # the one before is there if the newest turns out to be damaged

Item = TypeVar("Item")


def restore(registered: dict[str, Any], *, every_s: float = 300, folder: str | os.PathLike[str] | None = None) -> State:
    """Register what a checkpoint holds, and continue from the newest whole one if there is any.

    `registered` names objects with state_dict and load_state_dict (models, optimizers, schedulers), which are loaded in
    place, and plain values that can be pickled, which are read and written as `state["name"]`. `folder` is the job's
    own by default; outside of a job, and without a folder, nothing is saved.
    """
    job = os.environ.get("CORRAL_JOB_DIR")
    if folder is None and not job:
        say("not in a job, and no folder given: no checkpoints are saved")
        return State(registered, None, every_s)
    state = State(registered, Path(folder) if folder is not None else Path(job or "") / "checkpoint", every_s)
    warning.listen()
    group.settle_at_exit()
    state._continue()
    return state


class State:
    """Where a script is. Made by `restore`; `state["name"]` reads and writes a registered plain value."""

    def __init__(self, registered: dict[str, Any], folder: Path | None, every_s: float) -> None:
        self.step = 0
        self.epoch = 0
        self._batch = 0
        self._points = 0  # safe points passed since the very first run: what orders checkpoints
        self._registered = dict(registered)
        self._folder = folder
        self._every_s = every_s
        self._saved_at = time.monotonic()
        self._saved_point = -1
        self._good: dict[files.Saved, list[str]] = {}  # with their parts; newest first
        self._wrote = False  # a checkpoint, in this run
        self._meeting = Meeting()
        self._random: dict[str, Any] | None = None  # to be resumed when the loop starts
        self._epoch_random: dict[str, Any] = {}
        # Batches of this epoch that an earlier run has done; None once this run's own pass has begun.
        self._skip: int | None = 0

    def __getitem__(self, name: str) -> Any:
        return self._registered[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in self._registered:
            raise KeyError(f"{name!r} was not registered by restore(); registered: {', '.join(self._registered)}")
        self._registered[name] = value

    def steps(self, count: int) -> Iterator[int]:
        """Like range(count), but from where the last run stopped; the end of each step is a safe point."""
        self._resume_random()
        while self.step < count:
            yield self.step
            self.advance()
        self._finish()

    def advance(self) -> None:
        """Say that one step is done, in loops that `steps` does not fit: a safe point."""
        self.step += 1
        self._safe_point()

    def epochs(self, count: int) -> Iterator[int]:
        """Like range(count), but from the epoch where the last run stopped. Goes with `batches`."""
        if not self._skip:
            self._resume_random()
        while self.epoch < count:
            yield self.epoch
            self.epoch, self._batch, self._skip = self.epoch + 1, 0, 0
            self._safe_point()
        self._finish()

    def batches(self, loader: Iterable[Item]) -> Iterator[Item]:
        """One epoch's pass over `loader`, in the order that it had; the end of each batch is a safe point."""
        if self._skip is None:
            raise RuntimeError("state.batches() began twice in one epoch; use: for epoch in state.epochs(N)")
        skip, self._skip = self._skip, None
        if skip and self._epoch_random:  # a shuffling loader draws its order when it starts: draw the same one again
            randomness.resume(self._epoch_random)
        else:
            self._resume_random()
            self._epoch_random = randomness.capture()
        for item in self._rest(loader, skip):
            yield item
            self._batch += 1
            self.advance()

    def _rest(self, loader: Iterable[Item], skip: int) -> Iterator[Item]:
        length = len(loader) if isinstance(loader, Sized) else None
        # Nothing is left of an epoch that was stopped at its end: do not read it all to find out.
        items = iter(loader) if length is None or skip < length else iter(())
        for _ in itertools.islice(items, skip):
            pass
        self._resume_random()
        return items

    def _resume_random(self) -> None:
        if self._random is not None:
            randomness.resume(self._random)
            self._random = None

    def save(self) -> bool:
        """Save now, whatever the interval. All ranks must call it. Returns whether it was written."""
        if self._folder is None:
            return False
        began = time.monotonic()
        # On every rank: for sharded models state_dict() is work for all of them.
        packed = values.pack(self._registered)
        part, problem = self._save_part(self._folder)
        own = {"random": randomness.capture(), "epoch_random": self._epoch_random, "part": part, "problem": problem}
        ranks = group.collect(own)
        self._saved_at, self._saved_point = time.monotonic(), self._points
        written = group.rank() != 0 or self._save_whole(self._folder, packed, ranks, began)
        if any(rank["part"] for rank in ranks):
            # Also so that nobody begins the next part while rank 0 still removes old ones.
            written = not group.highest([int(not written)])[0]
        return written

    def _save_part(self, folder: Path) -> tuple[str, str]:
        try:
            return parts.save(folder, self._points, self._registered), ""
        except OSError as error:
            return "", f"rank {group.rank()}: {error}"

    def _save_whole(self, folder: Path, packed: dict[str, Any], ranks: list[dict[str, Any]], began: float) -> bool:
        content = {
            "position": {"step": self.step, "epoch": self.epoch, "batch": self._batch, "points": self._points},
            "ranks": ranks,
            "state": packed,
        }
        try:
            if problem := next((rank["problem"] for rank in ranks if rank["problem"]), ""):
                raise OSError(problem)
            saved = files.save(folder, self._points, content)
            self._wrote = True
            self._good = dict([(saved, _parts_of(content)), *self._good.items()][:_KEPT])
            files.keep_only(folder, list(self._good), {name for names in self._good.values() for name in names})
            size_mb = saved.path.stat().st_size / 1e6
        except OSError as error:
            say(f"could not save a checkpoint at {self._where()}: {error}")
            return False
        self._saved_at = time.monotonic()
        say(f"saved {self._where()} ({size_mb:.1f} MB in {self._saved_at - began:.2f} s)")
        return True

    def _continue(self) -> None:
        saved, content, part = self._newest()
        if saved is None:
            return
        try:
            values.unpack(self._registered, content["state"])
            parts.load(part, self._registered)
        except Exception as error:
            message = f"{saved.path} does not fit the script: {error}. To start anew, remove {self._folder}"
            raise RuntimeError(message) from error
        self._good = {saved: _parts_of(content)}
        position, ranks = content["position"], content["ranks"]
        self.step, self.epoch, self._points = position["step"], position["epoch"], position["points"]
        self._saved_point = self._points
        size = group.size() if len(ranks) == 1 else group.announced_size()
        # With other ranks than before each does another part of an epoch.
        self._batch = self._skip = position["batch"] * len(ranks) // size
        if group.rank() < len(ranks):
            self._random = ranks[group.rank()]["random"]
            self._epoch_random = ranks[group.rank()]["epoch_random"]
            randomness.resume(self._random)
        changed = f", now on {size} ranks instead of {len(ranks)}" if len(ranks) != size else ""
        say(f"continued at {self._where()} from {saved.path}{changed}")

    def _newest(self) -> tuple[files.Saved | None, dict[str, Any], files.Saved | None]:
        """The newest checkpoint that is whole with every rank's part, its content, and this rank's part."""
        before: int | None = None
        while self._folder is not None and (saved := choose(self._folder, before)) is not None:
            content = saved.load()
            part = parts.chosen(self._folder, _parts_of(content))
            if parts.are_whole(part):
                return saved, content, part
            say(f"skipped {saved.path}: a rank's part is damaged or missing")
            before = saved.number
        return None, {}, None

    def _safe_point(self) -> None:
        self._points += 1
        if self._folder is None:
            return
        stop = bool(warning.received())
        due = group.rank() == 0 and time.monotonic() - self._saved_at >= self._every_s
        if group.size() > 1:
            if not self._meeting.is_due(self._points):
                return
            stop, due = self._meeting.agree(self._points, stop, due)
        if stop:
            self._stop()
        elif due:
            self.save()

    def _stop(self) -> NoReturn:
        self.save()
        # Also a barrier: if somebody left before rank 0 has written, the launcher would end it in the middle.
        progress = group.rank() != 0 or self._wrote
        nothing_saved = group.highest([int(not progress)])[0]
        stopped = f"stopped by {warning.received() or 'a warning to another rank'} at {self._where()}"
        if nothing_saved:
            say(f"{stopped}; this run could save nothing, so it is not queued again")
            group.leave(1)
        say(f"{stopped}; the job goes back to the queue and continues from there")
        # For the batch script: of a step on several nodes it sees only the worst exit code, and who leaves first
        # has the others terminated.
        if group.rank() == 0 and (job := os.environ.get("CORRAL_JOB_DIR")):
            Path(job, "again").touch()
        group.leave(AGAIN)

    def _finish(self) -> None:
        if self._folder is not None and self._saved_point != self._points:
            self.save()

    def _where(self) -> str:
        if self.epoch or self._batch:
            return f"epoch {self.epoch}, batch {self._batch} (step {self.step})"
        return f"step {self.step}"


def _parts_of(content: dict[str, Any]) -> list[str]:
    """Names of the ranks' own parts, if they have any."""
    return [rank.get("part", "") for rank in content["ranks"]]
