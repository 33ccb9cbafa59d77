"""Advice as charts: by nodes, by batch, by link."""

from __future__ import annotations

from dataclasses import replace

from corral.advice.case import MODES, Case, mode_name
from corral.inside.cost import BF16, DDP, LOCAL, POWERSGD, Mode, scaled
from corral.plots.chart import Chart, Series

_DRAWN = (DDP, BF16, POWERSGD, LOCAL)
_LINKS = tuple(10 ** (8 + step / 8) for step in range(25))
_FACTORS = tuple(2 ** (step / 2) for step in range(-4, 19))


def charts(case: Case) -> list[Chart]:
    """All of them."""
    return [by_nodes(case), by_batch(case), by_link(case)]


def by_nodes(case: Case) -> Chart:
    counts = range(1, case.nodes + 1)
    ideal = Series("independent experiments", tuple((float(n), float(n)) for n in counts), muted=True)
    lines = [
        Series(mode_name(mode), tuple((float(n), case.predict(mode, n).speedup) for n in counts)) for mode in MODES
    ]
    return Chart("Speed-up by nodes (grey: independent experiments)", "nodes", "times one node", (ideal, *lines))


def by_batch(case: Case) -> Chart:
    """How a larger batch, and so a longer step, makes exchanges pay."""

    def line(mode: Mode) -> Series:
        points = tuple(
            (case.work.batch * factor, replace(case, work=scaled(case.work, factor)).predict(mode).efficiency * 100)
            for factor in _FACTORS
        )
        return Series(mode_name(mode), points)

    title = f"Efficiency on {case.nodes} nodes by batch"
    lines = tuple(line(mode) for mode in _DRAWN)
    return Chart(title, "samples per node and step", "efficiency (%)", lines, x_log=True)


def by_link(case: Case) -> Chart:
    """What another link would bring."""

    def line(mode: Mode) -> Series:
        links = [(bit_s, replace(case.link, bit_s=bit_s)) for bit_s in _LINKS]
        return Series(
            mode_name(mode),
            tuple((bit_s / 1e9, replace(case, link=link).predict(mode).efficiency * 100) for bit_s, link in links),
        )

    title = f"Efficiency on {case.nodes} nodes by link"
    lines = tuple(line(mode) for mode in _DRAWN)
    return Chart(title, "raw TCP (Gbit/s)", "efficiency (%)", lines, x_log=True)
