"""Predicted against measured step times: `python -m bench.advise`, as root.

On three local machines with links of 100 Mbit/s, 1 and 2.5 Gbit/s and unshaped: three models, two and three nodes,
every mode. What is predicted rests on a measurement of all-reduces on that link and on the step of one node alone. With
`--accumulated` DDP is measured whose gradients of eight steps are added up. With `--plots` nothing is measured: the
tables and plots of docs/when-does-multi-node-pay.md are made.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from bench.advise.bed import NODES, UNSHAPED, LinkBed, Report, Training
from bench.advise.cells import cells, median_error
from bench.advise.pages import write_docs
from bench.advise.report import chart, section
from bench.results import provenance, write_section
from bench.tools import Corral

from corral.advice.case import ACCUMULATED
from corral.plots.svg import svg

_STATE = Path("/var/tmp/corral-bench/state")
_LAST = Path("/var/tmp/corral-bench/advise.json")
_PLOT = Path("docs/plots/predicted-and-measured.svg")
_LINKS = ("100mbit", "1gbit", "2.5gbit", UNSHAPED)
_TRAININGS = (Training("gpt-1m", 50), Training("gpt-4m", 100), Training("gpt-16m", 250))
_MODES = ("plain", "ddp", "bf16", "powersgd", "local")
_ACCUMULATED_MODES = ("plain", "ddp")


def main() -> None:
    """Measure, predict, compare; a quick run is not written down."""
    given = _options()
    if given.plots:
        write_docs()
        return
    load = os.getloadavg()[0]
    last = _LAST.with_stem(f"advise-{ACCUMULATED.accumulate}") if given.accumulated else _LAST
    runs = json.loads(last.read_text()) if given.again else _measured(given, last)
    found = cells(runs)
    about = _about() + ([_ACCUMULATION] if given.accumulated else [])
    body = "\n".join(
        [provenance("bench.advise", [f"Corral {Corral().version()}"], load), *about, "", section(found, runs)]
    )
    print(f"\n{body}")
    if given.quick:
        print("\nNot written down: a quick run measures nothing.")
        return
    if given.accumulated:
        write_section("Advice: gradients added up", body)
        return
    write_section("Advice", body)
    _PLOT.parent.mkdir(exist_ok=True)
    _PLOT.write_text(svg(chart(found)))
    print(f"\nmedian error {median_error(found):.1%}: belongs into corral/advice/case.py as MEDIAN_ERROR")


def _measured(given: argparse.Namespace, last: Path) -> list[Report]:
    os.environ.setdefault("CORRAL_STATE", str(_STATE))
    began, bed, runs = time.monotonic(), LinkBed(given.release), []
    trainings = _TRAININGS[:1] if given.quick else _TRAININGS
    modes, accumulate = (_ACCUMULATED_MODES, ACCUMULATED.accumulate) if given.accumulated else (_MODES, 1)
    try:
        for rate in given.links.split(",") if given.links else _LINKS:
            print(f"links {rate}", flush=True)
            bed.link(rate)
            links = {str(nodes): bed.all_reduces(nodes) for nodes in range(2, NODES + 1)}
            steps = [bed.training(one, modes, given.seconds, accumulate) for one in trainings]
            runs.append({"link": rate, "cores": os.cpu_count(), "allreduce": links, "ddp": steps})
            last.parent.mkdir(parents=True, exist_ok=True)
            last.write_text(json.dumps(runs))
    finally:
        bed.remove()
    print(f"measured in {(time.monotonic() - began) / 60:.1f} min", flush=True)
    return runs


_ACCUMULATION = (
    f"- The gradients of {ACCUMULATED.accumulate} steps are added up before they are exchanged and used; a step is one "
    "forward and backward pass, and its time the mean of those that belong together."
)


def _about() -> list[str]:
    paces = ", ".join(f"{one.model} {one.compute_ms} ms" for one in _TRAININGS)
    pace = f"compute is held to a stated time per step ({paces})"
    return [
        f"- {NODES} local machines on this one, links shaped by tbf, gloo. Real gradients and traffic; {pace}.",
        "- Predictions use the link's benchmark (`corral bench allreduce`, 256 KiB to 16 MiB) and one node's step.",
    ]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.advise", description="Predicted and measured step times.")
    parser.add_argument("--release", default="trixie", help="the machines' Debian release")
    parser.add_argument("--links", default="", help="only these, with commas between them")
    parser.add_argument("--seconds", type=float, default=2.0, help="to measure each cell for")
    parser.add_argument("--accumulated", action="store_true", help="DDP with the gradients of several steps added up")
    parser.add_argument("--quick", action="store_true", help="a smoke run: the smallest model, nothing written down")
    parser.add_argument("--again", action="store_true", help="predict again for what the last run measured")
    parser.add_argument("--plots", action="store_true", help="only the tables and plots of the documentation")
    given = parser.parse_args()
    if os.geteuid() != 0 and not (given.plots or given.again):
        sys.exit("making machines needs root: run the command again with sudo")
    return given


if __name__ == "__main__":
    main()
