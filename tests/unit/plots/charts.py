"""Charts of every kind, for the tests."""

from __future__ import annotations

import math

from corral.plots.chart import Chart, Kind, Series


def curve(rate: float) -> tuple[tuple[float, float], ...]:
    return tuple((float(step), 2 * math.exp(-step * rate / 30) + 0.2) for step in range(1, 31))


CURVES = Chart(
    "loss by step",
    "step",
    "loss",
    (Series("#3 lr=0.1", curve(8)), Series("#1 lr=0.01", curve(3)), Series("#2 lr=1e-4", curve(0.5), muted=True)),
)
SCATTER = Chart(
    "loss by <lr>",
    "lr",
    "loss",
    (
        Series("act=relu", ((1e-5, 0.9), (1e-3, 0.2), (1e-1, math.nan))),
        Series("act=gelu", ((1e-4, 0.5), (1e-2, 0.1), (0.0, 0.3))),
    ),
    x_log=True,
    kind=Kind.SCATTER,
)
BARS = Chart(
    "Submitting 1,000 trials",
    "",
    "seconds",
    (Series("corral", ((0, 1.0), (1, 2.0))), Series("a loop of sbatch", ((0, 4.0), (1, 3.5)))),
    kind=Kind.BAR,
    x_names=("Slurm 22.05", "Slurm 24.11"),
)
EMPTY = Chart("nothing", "x", "y", (Series("", ((1.0, math.nan),)),))
