"""Findings as people read them: machine by machine, what is wrong and below it what to do."""

from __future__ import annotations

from collections.abc import Sequence

from rich.markup import escape

from corral.checks.finding import Finding
from corral.cli.terminal import console


def show_findings(findings: Sequence[Finding]) -> None:
    for where in dict.fromkeys(finding.where for finding in findings):
        console.print(f"[bold]{where}[/]")
        for finding in findings:
            if finding.where == where:
                mark = "[red]✗[/]" if finding.severity == "error" else "[yellow]![/]"
                console.print(f"  {mark} {escape(finding.what)}", soft_wrap=True)
                console.print(f"    [dim]→[/] {escape(finding.fix)}", soft_wrap=True)
