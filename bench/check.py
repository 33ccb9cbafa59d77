"""How long `corral check` takes: `python -m bench.check`, as root, on a quiet machine. About three minutes.

On a healthy local cluster of three machines, every rung, torch in this Python.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from bench.jobs.bed import LoginBed
from bench.results import provenance, spread, table, write_section
from bench.tools import Command, Corral, output

_STATE = Path("/var/tmp/corral-bench/state")
_NAME = "bench-check"
_REPEAT = 3


def main() -> None:
    """Measure, print and write down."""
    os.environ.setdefault("CORRAL_STATE", str(_STATE))
    load = os.getloadavg()[0]
    bed = LoginBed(_NAME, "trixie")
    bed.remove()
    try:
        bed.up()
        command = Command(Corral.command("check", "-c", _NAME, "--json"))
        reports = [json.loads(output(command)) for _ in range(_REPEAT)]
    finally:
        bed.remove()
    body = "\n".join(
        [
            provenance("bench.check", [f"Corral {Corral().version()}"], load),
            f"- A healthy local cluster of three. Medians of {_REPEAT}, extremes in brackets; the aim is 90 s.",
            "",
            table(["rung", "time", "the last time"], [*_rungs(reports), _whole(reports)]),
        ]
    )
    print(f"\n{body}")
    write_section("Check", body)


def _rungs(reports: list[dict[str, Any]]) -> list[list[str]]:
    return [
        [last["title"], spread([report["rungs"][number]["seconds"] for report in reports]), last["summary"]]
        for number, last in enumerate(reports[-1]["rungs"])
    ]


def _whole(reports: list[dict[str, Any]]) -> list[str]:
    healthy = all(report["ok"] for report in reports)
    return ["all", spread([report["seconds"] for report in reports]), "healthy" if healthy else "NOT HEALTHY"]


if __name__ == "__main__":
    main()
