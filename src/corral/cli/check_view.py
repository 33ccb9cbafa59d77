"""The ladder as people watch it: a line per rung as it comes, then what was found."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType

from rich.console import RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from corral.checks.ladder.climb import RUNGS
from corral.checks.ladder.figures import charts
from corral.checks.ladder.rung import Result, Rung
from corral.cli.findings import show_findings
from corral.cli.terminal import console
from corral.workflows.check import CheckReport

_MARKS = {"passed": ("✓", "green"), "failed": ("✗", "red"), "skipped": ("–", "dim")}
_TITLE = max(len(rung.title) for rung in RUNGS)
_NUMBERS = {rung.name: number for number, rung in enumerate(RUNGS, 1)}


class CheckWatch:
    """Prints a line for every rung that is done; on a terminal the one being climbed is shown below."""

    def __init__(self, *, silent: bool) -> None:
        self._silent = silent
        self._rung: Rung | None = None
        self._began = time.monotonic()
        self._spinner = Spinner("dots")
        self._live = Live(get_renderable=self._render, console=console, refresh_per_second=10, transient=True)

    def __enter__(self) -> CheckWatch:
        if not self._silent and console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def on_rung(self, rung: Rung, result: Result | None) -> None:
        self._rung, self._began = rung, time.monotonic()
        if result is not None:
            self._rung = None
            if not self._silent:
                _print_line(result_line(result))

    def paused(self) -> AbstractContextManager[object]:
        return self._pause()

    @contextmanager
    def _pause(self) -> Iterator[None]:
        running = self._live.is_started
        self._live.stop()
        try:
            yield
        finally:
            if running:
                self._live.start()

    def _render(self) -> RenderableType:
        table = Table.grid(padding=(0, 1))
        what = f"{_NUMBERS[self._rung.name]:>2}  {self._rung.title}" if self._rung else "    looking"
        seconds = time.monotonic() - self._began
        table.add_row(self._spinner, Text(what), Text(f"{seconds:.0f} s" if seconds >= 2 else "", style="dim"))
        return table


def _print_line(line: Text) -> None:
    """Cut on a terminal, because the findings say all of it; in a pipe nothing is."""
    if console.is_terminal:
        console.print(line, no_wrap=True, overflow="ellipsis")
    else:
        console.print(line, soft_wrap=True)


def result_line(result: Result) -> Text:
    """One rung on one line: what came of it is at the end, where it may be long."""
    mark, colour = _MARKS[result.status]
    took = "" if result.status == "skipped" else f"{result.seconds:.1f} s"
    line = Text()
    line.append(f"{mark} ", colour).append(f"{_NUMBERS[result.rung]:>2}  ", "dim").append(f"{result.title:<{_TITLE}}")
    line.append(f"{took:>8}  ", "dim")
    line.append(result.summary, "dim" if result.status == "skipped" else "red" if result.status == "failed" else "")
    return line


def show_report(report: CheckReport) -> None:
    """What was found, and how it ended."""
    if report.findings:
        console.print()
        show_findings(report.findings)
    for name in report.drained:
        console.print(
            f"[yellow]drained[/] {name}: nothing new starts there. Back with: [bold]corral node resume {name}[/]"
        )
    passed, failed, skipped = (
        sum(r.status == status for r in report.results) for status in ("passed", "failed", "skipped")
    )
    counts = ", ".join(
        f"{count} {word}" for count, word in ((passed, "passed"), (failed, "failed"), (skipped, "not tried")) if count
    )
    verdict = (
        f"[bold green]{report.cluster} is healthy[/]" if report.ok else f"[bold red]{report.cluster} has findings[/]"
    )
    console.print(f"{verdict}: {counts}, {report.seconds:.1f} s")


def show_quick(report: CheckReport) -> None:
    """The quick check at the end of `up`: one line, and whatever it found."""
    if report.ok:
        jobs = next(result for result in report.results if result.rung == "gpus")
        console.print(f"[green]✓[/] quick check: {jobs.summary}  [dim]{report.seconds:.1f} s[/]", soft_wrap=True)
        return
    bad = ", ".join(result.title for result in report.results if result.status == "failed")
    console.print(
        f"[red]✗[/] quick check: {bad}  [dim]{report.seconds:.1f} s; all of it: corral check[/]", soft_wrap=True
    )
    show_findings(report.findings)


def show_plots(report: CheckReport) -> None:
    from corral.cli.sweep_view import chart_view

    for chart in charts(report.results):
        console.print()
        console.print(chart_view(chart, min(console.width, 100), 12))
