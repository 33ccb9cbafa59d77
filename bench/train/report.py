"""The section of RESULTS.md and its plots: every mode beside torch's own DDP and beside what three nodes can do."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.results import table

from corral.measure.records import Record
from corral.plots.chart import Chart, Kind, Series

_ALONE, PLAIN, HEADLINE = "one node", "plain", "local, 4 bits"
_NODES = 3


@dataclass(frozen=True, slots=True)
class Rates:
    """What jobs told, by link."""

    compute_s: float
    by_link: dict[str, list[Record]]


@dataclass(frozen=True, slots=True)
class Losses:
    """What jobs told, by the seed of parameters and data: of every mode for the first, of two modes for the others."""

    by_seed: dict[int, list[Record]]

    @property
    def first(self) -> list[Record]:
        return next(iter(self.by_seed.values()))


def rates_report(rates: Rates) -> str:
    """Method and tables."""
    tables = [_rates(link, told) for link, told in rates.by_link.items()]
    return "\n\n".join([_rates_method(rates), *tables, _rates_aims(rates)])


def losses_report(losses: Losses) -> str:
    """Method and tables."""
    return "\n\n".join([_losses_method(losses.first), _losses(losses.first), _seeds(losses), _losses_aim(losses)])


def rate_charts(rates: Rates) -> dict[str, Chart]:
    """By the name of the file."""
    return {f"training-{link.replace('.', '-')}": _rate_chart(link, told) for link, told in rates.by_link.items()}


def loss_charts(losses: Losses) -> dict[str, Chart]:
    """By the name of the file."""
    return {"training-loss": _loss_chart(losses.first)}


def _rates_method(rates: Rates) -> str:
    told = next(iter(rates.by_link.values()))[0]
    late_ms = max(1000 * one["late_s"] for told in rates.by_link.values() for one in told)
    return (
        f"- The model of `examples/train_lm.py`, {told['parameters'] / 1e6:.1f} M parameters, on three local machines "
        f"of one rank each. Every step is paced to a compute time of {1000 * rates.compute_s:.0f} ms "
        f"for {told['batch']} samples of each rank (a third forward, two thirds backward, gradients ready one after "
        f"the other), of which {told['real']} are computed for real; all traffic is real. In the mode where it was "
        f"worst, the median step was {late_ms:.0f} ms behind that pace. `local` as in the losses.\n"
        "- Median of the windows, extremes in brackets. Physical best: three times one node alone, measured in the "
        "same job while the other two wait."
    )


def _losses_method(told: Sequence[Record]) -> str:
    used = next(one for one in told if one["kind"] == "options")
    return (
        "- The model of `examples/train_lm.py` on three local machines of one rank each. Losses do not depend on the "
        f"link: trained unshaped and unpaced, in nats per byte of {used['validation']} samples of text that is not "
        "learned, with the parameters that all ranks share; after the last step with the mean of all ranks.\n"
        f"- AdamW, {used['batch']} samples of 32 bytes per rank and step, {used['steps']} steps with warm-up and "
        f"cosine. Learning rate {used['lr']:g}, the best of 0.002, 0.003 and 0.005 for plain DDP; inner learning rate "
        f"of `local` {used['local_lr']:g}, every={used['every']}, fragments={used['fragments']}, "
        f"overlap={used['overlap']}, outer_lr={used['outer_lr']:g}, outer_momentum={used['outer_momentum']:g} (so the "
        "outer step is a plain average). These were chosen among some thirty runs, by 256 samples of the same text; "
        "model and batch were chosen with them. Other choices were worse: of trainings of 400 steps, those with "
        "every=10 and 20 ended 4 to 10 % above plain DDP, with every=5 5 %, and with a dense model of 2 M parameters "
        "and small batches 7 %; of 1,200 steps, those with every=5 2.9 % and with every=4 2.1 %."
    )


def _rates(link: str, told: Sequence[Record]) -> str:
    best = _NODES * _of(told, _ALONE)
    plain = _of(told, PLAIN)
    rows = [
        [
            f"`{one['mode']}`" if one["mode"] != _ALONE else "one node alone",
            f"{_median(one):.1f} ({min(one['samples_s']):.1f}–{max(one['samples_s']):.1f})",
            "" if one["mode"] == _ALONE else f"{_median(one) / plain:.1f}×",
            "" if one["mode"] == _ALONE else f"{100 * _median(one) / best:.0f} %",
        ]
        for one in told
    ]
    return table([f"three nodes, links of {link}", "samples/s", "of plain DDP", "of the physical best"], rows)


def _losses(told: Sequence[Record]) -> str:
    ends = _ends(told)
    samples = max(one["samples"] for one in told if one["kind"] == "loss")
    rows = [[f"`{mode}`", f"{kept:.4f}", f"{_above_plain(ends, mode):+.1f} %"] for mode, kept in ends.items()]
    return table([f"after {samples:,} samples", "validation loss", "more than plain DDP"], rows)


def _seeds(losses: Losses) -> str:
    rows = [
        [str(seed), f"{ends[PLAIN]:.4f}", f"{ends[HEADLINE]:.4f}", f"{_above_plain(ends, HEADLINE):+.1f} %"]
        for seed, ends in ((seed, _ends(told)) for seed, told in losses.by_seed.items())
    ]
    return table(["seed of parameters and data", f"`{PLAIN}`", f"`{HEADLINE}`", "more than plain DDP"], rows)


def _losses_aim(losses: Losses) -> str:
    above = [_above_plain(_ends(told), HEADLINE) for told in losses.by_seed.values()]
    measured = f"{statistics.median(above):+.1f} % ({min(above):+.1f} to {max(above):+.1f})"
    return table(["", "median of the seeds", "aim"], [[f"`{HEADLINE}` above plain DDP", measured, "at most 2 %"]])


def _ends(told: Sequence[Record]) -> dict[str, float]:
    return {one["mode"]: one["kept"] for one in told if one["kind"] == "end"}


def _above_plain(ends: Mapping[str, float], mode: str) -> float:
    return 100 * (ends[mode] / ends[PLAIN] - 1)


def _rates_aims(rates: Rates) -> str:
    fast, slow = rates.by_link["2.5gbit"], rates.by_link["100mbit"]
    of_best = 100 * _of(fast, HEADLINE) / _NODES / _of(fast, _ALONE)
    rows = [
        [f"`{HEADLINE}` on 2.5 Gbit/s", f"{of_best:.1f} %", "95 % of the best"],
        [f"`{HEADLINE}` on 100 Mbit/s", f"{_of(slow, HEADLINE) / _of(slow, PLAIN):.1f}×", "10× plain DDP"],
    ]
    return table(["", "measured", "aim"], rows)


def _rate_chart(link: str, told: Sequence[Record]) -> Chart:
    shown = [one for one in told if one["mode"] != _ALONE]
    best = _NODES * _of(told, _ALONE)
    names = (*(str(one["mode"]) for one in shown), "3 × one node")
    rates = [*(_median(one) for one in shown), best]
    points = tuple((float(at), rate) for at, rate in enumerate(rates))
    title = f"Training on three nodes, links of {link}"
    return Chart(title, "", "samples/s", (Series("", points),), kind=Kind.BAR, x_names=names)


def _loss_chart(told: Sequence[Record]) -> Chart:
    modes = dict.fromkeys(str(one["mode"]) for one in told if one["kind"] == "loss")
    series = tuple(Series(mode, _curve(told, mode)) for mode in modes)
    return Chart("Loss against samples, three ranks", "samples", "validation loss (nats per byte)", series)


def _curve(told: Sequence[Record], mode: str) -> tuple[tuple[float, float], ...]:
    found = [(one["samples"], one["kept"]) for one in told if one["kind"] == "loss" and one["mode"] == mode]
    return tuple((float(samples), float(kept)) for samples, kept in found)


def _of(told: Sequence[Record], mode: str) -> float:
    return _median(next(one for one in told if one["mode"] == mode))


def _median(one: dict[str, Any]) -> float:
    return float(statistics.median(one["samples_s"]))
