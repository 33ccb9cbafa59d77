"""Step times that were measured on real GPUs with `corral bench ddp`. None is estimated or scaled from another."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """One training step on one GPU, forward to optimizer."""

    model: str
    gpu: str
    precision: str
    batch: int
    """Samples of a step."""
    step_s: float
    """By torch.compile, which is what people run."""
    eager_s: float
    """Without it."""
    source: str
    """The command, and when."""


_SEEN = "`corral bench ddp --here --compile`, torch 2.11, 2026-11-15"

STEPS: tuple[Step, ...] = (
    Step("gpt2-124m", "h200", "bf16", 32, 0.0677, 0.1369, _SEEN),
    Step("gpt2-350m", "h200", "bf16", 16, 0.0895, 0.1410, _SEEN),
    Step("resnet50", "h200", "bf16", 256, 0.0381, 0.0540, _SEEN),
)
"""Medians of three windows."""


def find_step(model: str, gpu: str) -> Step | None:
    """The measured step of this model on this GPU."""
    return next((step for step in STEPS if (step.model, step.gpu) == (model, gpu)), None)
