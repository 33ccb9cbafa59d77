"""The report as one page that may be mailed."""

from __future__ import annotations

from collections.abc import Sequence

from corral.checks.ladder.figures import charts
from corral.checks.ladder.rung import Result
from corral.plots.html import Section, Table, page


def check_page(cluster: str, results: Sequence[Result]) -> str:
    """The rungs, what was found and how to mend it, and the plots."""
    findings = [finding for result in results for finding in result.findings]
    rungs = Table(
        ("rung", "", "result", "seconds"),
        [(result.title, result.status, result.summary, f"{result.seconds:.1f}") for result in results],
    )
    sections = [Section("The ladder", table=rungs)]
    for finding in findings:
        sections.append(Section(f"{finding.where} ({finding.severity})", f"{finding.what}. What to do: {finding.fix}"))
    plots = charts(results)
    if plots:
        sections.append(Section("Measured", charts=plots))
    healthy = all(result.status != "failed" for result in results)
    return page(f"{cluster}: {'healthy' if healthy else 'findings'}", sections, "made by corral check")
