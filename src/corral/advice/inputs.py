"""From what somebody gave, in words or in saved reports, to a training step whose numbers all have a source."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from corral.advice.measured import STEPS
from corral.advice.models import MODELS, shapes_of
from corral.advice.quantities import count
from corral.errors import InputError
from corral.inside.cost import Work

GPUS = tuple(sorted({step.gpu for step in STEPS}))


@dataclass(frozen=True, slots=True)
class Given:
    """What the command line says about the training; None where it says nothing."""

    step_ms: float | None = None
    params: str | None = None
    model: str | None = None
    gpu: str | None = None
    batch: int | None = None


@dataclass(frozen=True, slots=True)
class Sourced:
    """A training step, where it comes from, and the model's name where it has one."""

    work: Work
    source: str
    model: str = ""


def work_of(given: Given) -> Sourced:
    """The step that was given, or measured on that GPU."""
    if given.model is not None and given.model not in MODELS:
        raise InputError(f"there is no model {given.model!r}; there are {_listed(MODELS)}. Or give its size: --params")
    if given.step_ms is not None:
        return _given(given, given.step_ms)
    if given.gpu is not None:
        return _measured(given, given.gpu)
    if given.model or given.params:
        raise InputError("how long does a step take on one node? Give --step-ms, or --gpu for one that was measured")
    raise InputError(
        "what is trained? Give --step-ms with --params or --model, or --model with --gpu, "
        "or --from a file that `corral bench ddp --json` wrote"
    )


def _given(given: Given, step_ms: float) -> Sourced:
    if given.gpu is not None:
        raise InputError("--step-ms and --gpu both say how long a step takes: give one of them")
    if (given.params is None) == (given.model is None):
        raise InputError("how large is the model? Give --params, such as 124m, or --model, and not both")
    shapes = shapes_of(given.model or "")
    parameters = count(given.params) if given.params is not None else 0
    work = Work(step_ms / 1000, parameters=parameters, shapes=shapes, batch=given.batch or 1)
    return Sourced(work, "given", given.model or "")


def _measured(given: Given, gpu: str) -> Sourced:
    if given.model is None:
        raise InputError(
            f"which model on {gpu}? Give --model: {_listed(step.model for step in STEPS if step.gpu == gpu)}"
        )
    known = [step for step in STEPS if step.model == given.model]
    here = [step for step in known if step.gpu == gpu]
    if not here:
        others = f"; it was on {_listed(step.gpu for step in known)}" if known else ""
        raise InputError(
            f"{given.model} was not measured on {gpu!r}{others}. "
            f"Try: corral bench ddp --here --models {given.model} --json on such a machine, then --from its output"
        )
    found = next((step for step in here if given.batch in (None, step.batch)), None)
    if found is None:
        batches = _listed(str(step.batch) for step in here)
        raise InputError(f"{given.model} was measured on {gpu} with batch {batches}, not {given.batch}")
    work = Work(found.step_s, shapes=shapes_of(found.model), batch=found.batch)
    return Sourced(work, f"measured on {found.gpu}, {found.precision}: {found.source}", found.model)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(names)) or "none yet"
