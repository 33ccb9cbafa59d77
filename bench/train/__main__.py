"""What training over slow links costs in each mode, and what it learns: `python -m bench.train`, as root. An hour.

On a local cluster of three machines: the example's language model with a stated compute time per step, over links of
2.5 Gbit/s and 100 Mbit/s; then, unshaped and as fast as the machine can, the loss against the number of samples.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.results import provenance, write_section
from bench.tools import Corral
from bench.train.bed import TrainBed
from bench.train.report import (
    HEADLINE,
    PLAIN,
    Losses,
    Rates,
    loss_charts,
    losses_report,
    rate_charts,
    rates_report,
)

from corral.measure.records import Record
from corral.plots.chart import Chart
from corral.plots.svg import svg

_STATE = Path("/var/tmp/corral-bench/state")
_PLOTS = Path(__file__).parents[2] / "docs"
_LINKS = ("2.5gbit", "100mbit")
_SEEDS = (0, 1, 2)


def main() -> None:
    """Measure and print; a quick run is not written down."""
    given = _options()
    os.environ.setdefault("CORRAL_STATE", str(_STATE))
    load = os.getloadavg()[0]
    parts = [part for part in _PARTS if given.only in ("", part.name)]
    bed = TrainBed(given.name, given.release)
    try:
        told = {part: part.measure(bed, given) for part in parts}
        slurm = bed.root("srun --version").split()[-1]
    finally:
        if not given.keep:
            bed.remove()
    versions = [f"Corral {Corral().version()}", f"PyTorch {version('torch')}", f"Slurm {slurm} ({given.release})"]
    for part, found in told.items():
        body = f"{provenance('bench.train', versions, load)}\n{part.report(found)}"
        print(f"\n{body}")
        if given.quick:
            print("\nNot written down: a quick run measures nothing.")
            continue
        write_section(part.title, body)
        for name, chart in part.charts(found).items():
            (_PLOTS / f"{name}.svg").write_text(svg(chart))


def _losses(bed: TrainBed, given: argparse.Namespace) -> Losses:
    bed.shape(None)
    bed.bring()
    found = {}
    for seed in _SEEDS:
        _say(f"losses, {given.steps} steps, seed {seed}, links unshaped")
        modes = "" if seed == _SEEDS[0] else f"--modes {PLAIN} '{HEADLINE}'"
        found[seed] = bed.job(f"losses --steps {given.steps} --seed {seed} {modes}", _hear)
    return Losses(found)


def _throughput(bed: TrainBed, given: argparse.Namespace) -> Rates:
    quick = "--windows 1 --window 2" if given.quick else ""
    rates = {}
    for link in _LINKS:
        _say(f"throughput, links of {link}")
        bed.shape(link)
        bed.bring()
        rates[link] = bed.job(f"throughput --compute-ms {given.compute_ms} {quick}", _hear)
    return Rates(given.compute_ms / 1000, rates)


@dataclass(frozen=True)
class Part:
    """What can be measured by itself, and what becomes of it."""

    name: str
    title: str
    measure: Callable[[TrainBed, argparse.Namespace], Any]
    report: Callable[[Any], str]
    charts: Callable[[Any], dict[str, Chart]]


_PARTS = (
    Part("losses", "Training over slow links: losses", _losses, losses_report, loss_charts),
    Part("throughput", "Training over slow links: throughput", _throughput, rates_report, rate_charts),
)


def _hear(record: Record) -> None:
    if record["kind"] == "rate":
        shown = "  ".join(f"{rate:.1f}" for rate in record["samples_s"])
        _say(f"  {record['mode']:14} {shown} samples/s, {1000 * record['late_s']:.0f} ms late")
    elif record["kind"] == "end":
        _say(f"  {record['mode']:14} loss {record['kept']:.4f} after {record['seconds']:.0f} s")


def _say(text: str) -> None:
    print(text, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.train", description="Training over slow links, by mode.")
    parser.add_argument("--release", default="trixie", help="the machines' Debian release")
    parser.add_argument("--name", default="bench-train", help="the cluster's name")
    parser.add_argument("--only", default="", choices=("losses", "throughput"), help="the other part is left as it was")
    parser.add_argument("--keep", action="store_true", help="leave the machines running, for another run")
    parser.add_argument("--compute-ms", type=float, default=90.0, help="the stated compute time of a step")
    parser.add_argument("--steps", type=int, default=1200, help="of the trainings whose losses are compared")
    parser.add_argument("--quick", action="store_true", help="a smoke run: one short window each, nothing written")
    if os.geteuid() != 0:
        sys.exit("making machines needs root: run the command again with sudo")
    return parser.parse_args()


if __name__ == "__main__":
    main()
