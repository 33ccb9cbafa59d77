"""Findings as people read them: what is wrong, and below it what to do."""

from __future__ import annotations

from collections.abc import Iterable

from rich.markup import escape

from corral.checks.finding import Finding
from corral.cli.terminal import console


def show_findings(findings: Iterable[Finding]) -> None:
    for finding in findings:
        mark = "[red]✗[/]" if finding.severity == "error" else "[yellow]![/]"
        console.print(f"  {mark} {finding.where}  {escape(finding.what)}", soft_wrap=True)
        console.print(f"      [dim]→[/] {escape(finding.fix)}", soft_wrap=True)
