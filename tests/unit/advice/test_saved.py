"""Reports of the benchmarks, as they print them, become a link and training steps."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from corral.advice.case import Case
from corral.advice.inputs import Given
from corral.advice.models import shapes_of
from corral.advice.saved import link_of_report, steps_of_report
from corral.errors import InputError
from corral.inside.cost import CPU, GPU, Link, all_reduce_s
from corral.measure.collective import report_of
from corral.measure.scaling import scaling
from corral.workflows.advise import Question, answer
from corral.workflows.bench import Place

LINK = Link(2.2e9, plain_share=0.45, lanes_share=0.95, plain_latency_s=2e-4, lanes_latency_s=5e-4)


def allreduce(nodes: int = 3, backend: str = "gloo") -> dict[str, Any]:
    """What `corral bench allreduce --json` prints on such a link."""
    hosts = [f"node{number}" for number in range(nodes)]
    records: list[dict[str, Any]] = [
        {"kind": "setup", "collective": "allreduce", "torch": "2", "backend": backend, "device": "cpu", "ranks": nodes}
        | {"hosts": hosts, "unit": 1},
        {
            "kind": "tcp",
            "links": [{"from": one, "to": "", "ring_bit_s": LINK.bit_s, "single_bit_s": 0} for one in hosts],
        },
    ]
    for size in (1 << 18, 1 << 20, 1 << 22, 1 << 24):
        for variant in ("untuned", "tuned"):
            taken = all_reduce_s(size, LINK, nodes, lanes=variant == "tuned")
            timing = {"time_s": taken, "wrong": 0, "iterations": 1}
            records.append(
                {"kind": "row", "variant": variant, "how": "", "size_bytes": size, "count": size // 4, "type": "float"}
                | {"redop": "sum", "out_of_place": timing | {"time_s": 2 * taken}, "in_place": timing}
            )
    return report_of(records, "lab").to_json()


def ddp(*models: str, compute_s: float | None = 0.12, cuda: bool = False, mode: str = "alone") -> dict[str, Any]:
    """What `corral bench ddp --json` prints for one node."""
    records: list[dict[str, Any]] = [
        {"kind": "machine", "device": "some", "cuda": cuda, "torch": "2", "backend": "gloo", "n": 1, "unit": 1}
    ]
    for name in models:
        records.append(
            {"kind": "model", "name": name, "parameters": 4_048_384, "gradient_bytes": 4 * 4_048_384, "batch": 8}
            | {"compute_s": compute_s}
        )
        records.append(
            {"kind": "row", "model": name, "mode": mode, "n": 1, "ranks": 1, "step_s": 0.12, "least_s": 0.12}
            | {"most_s": 0.12, "windows": 3, "steps": 9, "forward_s": 0.03, "backward_s": 0.08, "optimizer_s": 0.01}
        )
    return scaling("lab", records).to_json()


def saved(folder: Path, *reports: dict[str, Any]) -> tuple[Path, ...]:
    files = tuple(folder / f"{number}.json" for number in range(len(reports)))
    for file, report in zip(files, reports, strict=True):
        file.write_text(json.dumps(report))
    return files


def asked(files: tuple[Path, ...], given: Given | None = None, link: str | None = None) -> Case:
    question = Question(given or Given(), 0.8, Place(), link, files)
    return asyncio.run(answer(question, lambda _: None, lambda _: None))


def test_a_link_is_what_all_reduces_in_place_found() -> None:
    found = link_of_report(allreduce(), "x.json")
    assert found.nodes == 3
    assert found.link.plain_share == pytest.approx(LINK.plain_share)
    assert found.link.lanes_latency_s == pytest.approx(LINK.lanes_latency_s)
    assert found.link.at_once == 2
    assert link_of_report(allreduce(backend="nccl"), "x.json").link.at_once == 1


def test_a_step_keeps_how_it_was_measured() -> None:
    (step,) = steps_of_report(ddp("gpt-4m"), "x.json")
    assert step.work.shapes == shapes_of("gpt-4m")
    assert (step.work.step_s, step.work.batch, step.work.stated, step.work.device) == (0.12, 8, True, CPU)
    assert (step.work.backward_from, step.work.backward_to) == pytest.approx((0.25, 1 - 1 / 12))
    (real,) = steps_of_report(ddp("somebody's", compute_s=None, cuda=True), "x.json")
    assert (real.work.gradient_bytes, real.work.stated, real.work.device) == (4 * 4_048_384, False, GPU)


def test_two_saved_reports_are_all_that_advice_needs(tmp_path: Path) -> None:
    case = asked(saved(tmp_path, allreduce(), ddp("gpt-4m")))
    assert (case.nodes, case.model, case.work.step_s) == (3, "gpt-4m", 0.12)
    assert case.link_source == f"measured on 3 nodes: {tmp_path}/0.json"


def test_one_of_several_models_is_chosen_by_name(tmp_path: Path) -> None:
    files = saved(tmp_path, ddp("gpt-4m", "gpt-16m"))
    assert asked(files, Given(model="gpt-16m"), "1gbit").model == "gpt-16m"
    with pytest.raises(InputError, match="which model\\? Choose with --model: gpt-4m, gpt-16m"):
        asked(files, link="1gbit")


@pytest.mark.parametrize(
    ("reports", "given", "link", "words"),
    [
        ([allreduce(), ddp("gpt-4m")], Given(), "1gbit", "something about the link"),
        ([allreduce(), ddp("gpt-4m")], Given(step_ms=100), None, "something about the training step"),
        ([allreduce(), allreduce(), ddp("gpt-4m")], Given(), None, "something about the link"),
        ([allreduce(nodes=1), ddp("gpt-4m")], Given(), None, "says nothing about a link"),
        ([ddp("gpt-4m", mode="ddp")], Given(), "1gbit", "no step of gpt-4m on one node with one GPU"),
        ([{"version": 1}], Given(), "1gbit", "is no report of"),
    ],
)  # fmt: skip
def test_reports_that_contradict_or_lack_something_are_refused(
    tmp_path: Path, reports: list[dict[str, Any]], given: Given, link: str | None, words: str
) -> None:
    with pytest.raises(InputError) as caught:
        asked(saved(tmp_path, *reports), given, link)
    assert words in str(caught.value)


def test_a_file_that_is_no_json_is_named(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text("job 12 on 3 nodes")
    with pytest.raises(InputError, match=r"report\.json is no JSON"):
        asked((file,))
