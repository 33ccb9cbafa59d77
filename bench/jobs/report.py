"""The section of RESULTS.md: every number beside what it is compared with and what was aimed at."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from bench.jobs.bed import Samples
from bench.jobs.measures import Sizes
from bench.results import spread, table

_METHOD = (
    "- Three local machines; all on the login machine as an ordinary user, medians with extremes in brackets, the "
    "compared commands in turns. The partition is down while trials are sent and jobs are listed."
)


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds by name, of each question."""

    sent: Samples
    listed: Samples
    single: Samples
    tuned: Samples
    untuned: Samples


def report(sizes: Sizes, measured: Measured) -> str:
    """Method and tables."""
    sections = [
        _METHOD,
        _sent(sizes, measured.sent),
        _listed(sizes, measured.listed),
        _single(measured.single),
        _finished(sizes, measured),
    ]
    return "\n\n".join(sections)


def _sent(sizes: Sizes, sent: Samples) -> str:
    sweep, loop = _median(sent, "corral sweep"), _median(sent, "loop of sbatch")
    corral, submitit = _median(sent, "corral map"), _median(sent, "submitit map")
    call, other = _median(sent, "corral map, the call"), _median(sent, "submitit map, the call")
    rows = [
        ["`corral sweep`", spread(sent["corral sweep"]), f"{loop / sweep:.0f}× the loop", "20× the loop"],
        ["", "", f"{submitit / sweep:.1f}× submitit's process", "1× submitit"],
        [f"loop of {sizes.trials} `sbatch`", spread(sent["loop of sbatch"]), "", ""],
        ["Python: `cluster.map`", spread(sent["corral map"]), f"{submitit / corral:.1f}× submitit", "1× submitit"],
        ["Python: submitit's `map_array`", spread(sent["submitit map"]), "", ""],
        ["the call of `map` alone", spread(sent["corral map, the call"]), f"{other / call:.1f}× submitit", ""],
        ["the call of `map_array` alone", spread(sent["submitit map, the call"]), "", ""],
    ]
    return table([f"{sizes.trials:,} trials sent", "time", "as fast as", "aim"], rows)


def _listed(sizes: Sizes, listed: Samples) -> str:
    base = _median(listed, "corral jobs")
    rows = [
        [f"`{name}`", spread(taken), f"{statistics.median(taken) / base:.1f}×", _if(name.startswith("corral"), "0.5 s")]
        for name, taken in listed.items()
    ]
    return table([f"{sizes.jobs:,} jobs listed", "time", "of `corral jobs`", "aim"], rows)


def _single(single: Samples) -> str:
    rows = []
    for name, base, aim in (
        ("srun", "", ""),
        ("corral run", "srun", "under 1 s"),
        ("corral run --detach", "", ""),
        ("srun over SSH", "", ""),
        ("corral run over SSH", "srun over SSH", "under 1 s"),
    ):
        more = f"{_median(single, name) - _median(single, base):+.2f} s" if base else ""
        rows.append([f"`{name}`", spread(single[name]), more, aim])
    return table(["`true` as a job", "time", "more than srun", "aim"], rows)


def _finished(sizes: Sizes, measured: Measured) -> str:
    rows = [
        [f"`corral sweep`, {whose}", *_rates(sizes, taken["corral sweep"])]
        for whose, taken in (("Corral's slurm.conf", measured.tuned), ("Slurm's scheduler defaults", measured.untuned))
    ]
    rows += [
        [f"plain array, {whose}", *_rates(sizes, taken["plain array"])]
        for whose, taken in (("Corral's slurm.conf", measured.tuned), ("Slurm's scheduler defaults", measured.untuned))
    ]
    return table([f"{sizes.short} short experiments", "from sending to the last end", "finished per second"], rows)


def _rates(sizes: Sizes, taken: Sequence[float]) -> list[str]:
    return [spread(taken), f"{sizes.short / statistics.median(taken):.1f}"]


def _median(samples: Samples, name: str) -> float:
    return statistics.median(samples[name])


def _if(condition: bool, text: str) -> str:
    return text if condition else ""
