"""How much of a link collectives use: `python -m bench.collectives`, as root, on a quiet machine. About five minutes.

On one local cluster of three machines, whose links are made slow one rate after the other, with `corral bench` as a
person would run it: torch's gloo as it comes and tuned, beside raw TCP in the same job. Needs torch in this Python.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.jobs.bed import LoginBed
from bench.results import provenance, table, write_section
from bench.tools import Command, Corral, output

from corral.spec.local import local_cluster

_STATE = Path("/var/tmp/corral-bench/state")
_NAME = "bench-collectives"
_REPEAT = 3


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the table."""

    link: str
    """Empty: as fast as this computer copies."""
    collective: str
    size: str


# A size that takes the slowest link about a second.
CASES = (
    Case("100mbit", "allreduce", "8M"),
    Case("1gbit", "allreduce", "64M"),
    Case("2.5gbit", "allreduce", "64M"),
    Case("2.5gbit", "allgather", "64M"),
    Case("2.5gbit", "reducescatter", "64M"),
    Case("2.5gbit", "sendrecv", "64M"),
    Case("", "allreduce", "64M"),
)

_TITLES = (
    "link",
    "collective",
    "size",
    "raw TCP, Gbit/s",
    "untuned, Gbit/s",
    "of it",
    "tuned, Gbit/s",
    "of it",
    "wrong",
)
_ABOUT = """\
- Three local machines on one computer, one rank each, links shaped by tbf. Medians of {rounds}, extremes in brackets;
  bus bandwidth by the formulas of nccl-tests, the average of out of place and in place. Shares are those of raw TCP in
  the same job, while every node sends to the next."""


def main() -> None:
    """Measure, print and write down."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--release", default="trixie")
    parser.add_argument("--quick", action="store_true", help="once each, and not written down")
    given = parser.parse_args()
    os.environ.setdefault("CORRAL_STATE", str(_STATE))
    load = os.getloadavg()[0]
    reports = _measure(given.release, 1 if given.quick else _REPEAT)
    first = reports[CASES[0]][0]
    lines = [
        provenance("bench.collectives", [f"Corral {Corral().version()}", f"{first['program']}, gloo"], load),
        _ABOUT.format(rounds=len(reports[CASES[0]])),
        "",
        table(_TITLES, [_row(case, found) for case, found in reports.items()]),
    ]
    body = "\n".join(lines)
    print(f"\n{body}")
    if given.quick:
        print("\nNot written down: a quick run measures nothing.")
    else:
        write_section("Collectives", body)


def _measure(release: str, repeat: int) -> dict[Case, list[dict[str, Any]]]:
    bed = LoginBed(_NAME, release)
    bed.remove()
    found: dict[Case, list[dict[str, Any]]] = {}
    try:
        for case in CASES:
            # The same machines throughout: only their links change.
            bed.spec = local_cluster(_NAME, 3, {"release": release, **({"link": case.link} if case.link else {})})
            bed.up()
            options = ("-b", case.size, "-e", case.size, "-c", _NAME, "--json")
            command = Command(Corral.command("bench", case.collective, *options))
            found[case] = [json.loads(output(command)) for _ in range(repeat)]
            print("  ".join(_row(case, found[case])), flush=True)
    finally:
        bed.remove()
    return found


def _row(case: Case, reports: Sequence[dict[str, Any]]) -> list[str]:
    cells = [case.link or "unshaped", case.collective, f"{case.size}iB"]
    cells.append(_spread([report["raw_tcp"]["limit_bit_s"] / 1e9 for report in reports]))
    for number in (0, 1):
        largest = [report["variants"][number]["largest"] for report in reports]
        cells.append(_spread([one["busbw_bit_s"] / 1e9 for one in largest]))
        cells.append(f"{statistics.median(one['share_of_raw_tcp'] for one in largest):.0%}".replace("%", " %"))
    return [*cells, str(sum(report["wrong"] for report in reports))]


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.3f} ({min(values):.3f}–{max(values):.3f})"


if __name__ == "__main__":
    main()
