"""A deployment as people watch it: a live line per machine on a terminal, a plain log elsewhere, or JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from corral.cli.terminal import console, errors
from corral.deploy.events import Event

_BAD = ("failed", "lost", "unreachable")


class Watch(Protocol):
    """Whoever shows what happens."""

    def emit(self, event: Event) -> None: ...

    def say(self, text: str) -> None:
        """Something that concerns no single machine, such as an image being built."""

    def paused(self) -> AbstractContextManager[object]:
        """Leave the terminal alone while a person is asked something."""


@contextmanager
def watching(verb: str, *, instead: Watch | None = None) -> Iterator[Watch]:
    """The right watch for where the output goes, unless the command brings another one."""
    if instead is not None:
        yield instead
    elif console.is_terminal:
        live = LiveWatch(verb)
        with live.display:
            yield live
    else:
        yield PlainWatch()


class SilentWatch:
    """For commands whose report says it all."""

    def emit(self, event: Event) -> None:
        pass

    def say(self, text: str) -> None:
        pass

    def paused(self) -> AbstractContextManager[object]:
        return nullcontext()


class JsonWatch:
    """One JSON object per line on stdout."""

    def emit(self, event: Event) -> None:
        typer.echo(json.dumps(event.to_json()))

    def say(self, text: str) -> None:
        typer.echo(json.dumps({"kind": "progress", "text": text}))

    def paused(self) -> AbstractContextManager[object]:
        return nullcontext()


class PlainWatch:
    """A log for files and pipes: one line per change, none for what was already right."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._summaries: dict[tuple[str, str], str] = {}

    def emit(self, event: Event) -> None:
        key = (event.host, event.step)
        if event.kind == "started":
            self._summaries[key] = event.text
        elif event.kind == "changed":
            self._line(f"{event.host}: {self._summaries.get(key, event.step)} ({event.seconds:.1f} s)")
        elif event.kind in _BAD:
            self._line(f"{event.host}: {event.kind.upper()} {event.step}: {event.text}")

    def say(self, text: str) -> None:
        self._line(text)

    def paused(self) -> AbstractContextManager[object]:
        return nullcontext()

    def _line(self, text: str) -> None:
        errors.print(f"[{time.monotonic() - self._began:6.1f}s] {text}", markup=False, soft_wrap=True)


@dataclass(slots=True)
class _MachineLine:
    total: int = 0
    done: int = 0
    changed: int = 0
    state: str = "working"
    running: dict[str, str] = field(default_factory=dict)


class LiveWatch:
    """One line per machine, redrawn in place."""

    def __init__(self, verb: str) -> None:
        self._verb = verb
        self._machines: dict[str, _MachineLine] = {}
        self._saying = ""
        self._spinner = Spinner("dots")
        self._began = time.monotonic()
        self.display = Live(get_renderable=self.render, console=console, refresh_per_second=10, transient=True)

    def say(self, text: str) -> None:
        self._saying = text

    @contextmanager
    def paused(self) -> Iterator[None]:
        self.display.stop()
        try:
            yield
        finally:
            self.display.start()

    def emit(self, event: Event) -> None:
        self._saying = ""
        line = self._machines.setdefault(event.host, _MachineLine())
        if event.kind == "connecting":
            line.running[""] = "connecting"
        elif event.kind == "probed":
            line.running.pop("", None)
            line.total += event.steps
        elif event.kind == "started" or event.kind == "output":
            line.running[event.step] = event.text
        else:
            line.running.pop(event.step, None)
            line.done += 1
            line.changed += event.kind == "changed"
            if event.kind in _BAD:
                line.state = event.kind
                line.running[event.step] = event.text

    def render(self) -> RenderableType:
        """The screen as it is now."""
        head = Text(f"{self._verb} … {time.monotonic() - self._began:.0f} s  {self._saying}", style="bold")
        table = Table.grid(padding=(0, 2))
        for name, line in sorted(self._machines.items()):
            table.add_row(
                self._mark(line),
                name,
                f"{line.done}/{line.total}" if line.total else "",
                Text(self._doing(line), no_wrap=True, overflow="ellipsis"),
            )
        return Group(head, table)

    def _doing(self, line: _MachineLine) -> str:
        if line.running:
            return ", ".join(text.split("\n")[0] for text in line.running.values())
        return "waits for another machine" if line.done < line.total else ""

    def _mark(self, line: _MachineLine) -> RenderableType:
        if line.state != "working":
            return Text("✗", style="red")
        if line.total and line.done >= line.total:
            return Text("✓", style="green")
        return self._spinner
