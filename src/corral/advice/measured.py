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
    source: str
    """The command, and when."""


STEPS: tuple[Step, ...] = ()


def find_step(model: str, gpu: str) -> Step | None:
    """The measured step of this model on this GPU."""
    return next((step for step in STEPS if (step.model, step.gpu) == (model, gpu)), None)
