"""Reports that `corral bench allreduce --json` and `corral bench ddp --json` printed, read back as link and steps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from corral.advice.inputs import Sourced
from corral.advice.links import Timed, fitted_link
from corral.advice.models import shapes_of
from corral.errors import InputError
from corral.inside.cost import CPU, GPU, Link, Work

Report = Mapping[str, Any]

_ALONE = "alone"


@dataclass(frozen=True, slots=True)
class MeasuredLink:
    """A link as all-reduces among so many nodes found it."""

    link: Link
    source: str
    nodes: int


def read_report(path: Path) -> Report:
    """A saved report, or one clear error."""
    try:
        found = json.loads(path.read_text())
    except OSError as problem:
        raise InputError(f"{path} cannot be read: {problem.strerror}") from problem
    except ValueError as problem:
        raise InputError(f"{path} is no JSON: {problem}. Try: corral bench allreduce --json > {path.name}") from problem
    if not isinstance(found, dict) or not (has_link(found) or has_steps(found)):
        raise InputError(f"{path} is no report of `corral bench allreduce --json` or `corral bench ddp --json`")
    return found


def has_link(report: Report) -> bool:
    return report.get("bench") == "allreduce"


def has_steps(report: Report) -> bool:
    return {"models", "rows", "machine"} <= report.keys()


def link_of_report(report: Report, source: str) -> MeasuredLink:
    """Of a benchmark of all-reduces over several nodes."""
    nodes, bit_s = len(report["hosts"]), report["raw_tcp"]["limit_bit_s"]
    if nodes < 2 or not bit_s:
        raise InputError(f"{source}: no raw TCP between two nodes or more in it, so it says nothing about a link")
    timed = {variant["name"]: [_timed(row) for row in variant["rows"]] for variant in report["variants"]}
    plain = timed["untuned"]
    link = fitted_link(bit_s, nodes, plain, timed.get("tuned", plain))
    # NCCL does one thing after the other, gloo two at a time.
    link = replace(link, at_once=1 if report["backend"] == "nccl" else link.at_once)
    return MeasuredLink(link, f"measured on {nodes} nodes: {source}", nodes)


def _timed(row: Report) -> Timed:
    return row["size_bytes"], (row["in_place"] or row["out_of_place"])["time_s"]


def steps_of_report(report: Report, source: str) -> list[Sourced]:
    """One node's step of every model that was measured."""
    found = []
    for model in report["models"]:
        alone = [row for row in report["rows"] if row["model"] == model["name"] and row["mode"] == _ALONE]
        if not alone:
            raise InputError(f"{source}: no step of {model['name']} on one node with one GPU. Measure one: --nodes 1")
        found.append(
            Sourced(_work(model, alone[0], on_gpu=report["machine"]["cuda"]), f"measured: {source}", model["name"])
        )
    return found


def _work(model: Report, alone: Report, *, on_gpu: bool) -> Work:
    work = Work(
        alone["step_s"],
        parameters=model["parameters"],
        shapes=shapes_of(model["name"]),
        batch=model.get("batch") or 1,
        device=GPU if on_gpu else CPU,
        stated=model.get("compute_s") is not None,
    )
    if alone.get("forward_s") is None:
        return work
    forward_s, optimizer_s = alone["forward_s"], alone["optimizer_s"]
    whole_s = forward_s + alone["backward_s"] + optimizer_s
    return replace(work, backward_from=forward_s / whole_s, backward_to=1 - optimizer_s / whole_s)
