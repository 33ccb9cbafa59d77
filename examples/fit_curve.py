"""Fits a small network to a sine, with nothing but Python: something to sweep over.

corral sweep --grid lr=0.003,0.03,0.3 --grid act=relu,tanh --grid seed=0..3 fit_curve.py
"""

import argparse
import math
import random
import sys

from corral import metrics

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.03)
parser.add_argument("--width", type=int, default=24)
parser.add_argument("--act", choices=("relu", "tanh"), default="tanh")
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--steps", type=int, default=60)
options = parser.parse_args()

draw = random.Random(options.seed)  # noqa: S311
scales, shifts = ([draw.gauss(0, 1) for _ in range(options.width)] for _ in range(2))
weights = [draw.gauss(0, 0.1) for _ in range(options.width)]
points = [(x / 20, math.sin(x * 3 / 20)) for x in range(-20, 21)]


def active(value: float) -> tuple[float, float]:
    """The activation and its slope."""
    if options.act == "relu":
        return max(value, 0.0), float(value > 0)
    return math.tanh(value), 1 - math.tanh(value) ** 2


for step in range(1, options.steps + 1):
    draw.shuffle(points)
    loss = 0.0
    for x, y in points:
        hidden = [active(scale * x + shift) for scale, shift in zip(scales, shifts, strict=True)]
        error = sum(weight * value for weight, (value, _) in zip(weights, hidden, strict=True)) - y
        loss += error**2 / len(points)
        if not math.isfinite(loss) or loss > 1e6:
            metrics.report(step=step, loss=math.nan)
            sys.exit(f"the loss is not finite at step {step}: lower --lr")
        for unit, (value, slope) in enumerate(hidden):
            change = options.lr * error * weights[unit] * slope
            weights[unit] -= options.lr * error * value
            scales[unit] -= change * x
            shifts[unit] -= change
    metrics.report(step=step, loss=round(loss, 6))
