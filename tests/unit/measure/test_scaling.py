"""Reports of how training scales: what is compared with what, and what people get to see."""

from __future__ import annotations

from typing import Any

import pytest

from corral.errors import InputError
from corral.measure import scaling_view
from corral.measure.scaling import Scaling, scaling
from corral.measure.training import Script, Training

_MACHINE = {
    "kind": "machine",
    "device": "x86_64",
    "cuda": False,
    "torch": "2.13.0",
    "backend": "gloo",
    "n": 3,
    "unit": 1,
}
_MODEL = {
    "kind": "model",
    "name": "gpt-1m",
    "parameters": 1_040_768,
    "gradient_bytes": 4_163_072,
    "batch": 1,
    "length": 16,
    "unit": "tokens",
    "precision": "fp32",
    "compute_s": 0.1,
}


def _row(mode: str, n: int, step_s: float, **more: Any) -> dict[str, Any]:
    times = {"step_s": step_s, "least_s": step_s * 0.9, "most_s": step_s * 1.1, "windows": 3, "steps": 30}
    return {"kind": "row", "model": "gpt-1m", "mode": mode, "n": n, "ranks": n, **times, **more}


@pytest.fixture
def report() -> Scaling:
    rows = [_row("alone", 1, 0.1), _row("plain", 2, 0.2), _row("local", 2, 0.1), _row("plain", 3, 0.4, late_s=0.03)]
    return scaling("three", [_MACHINE, _MODEL, *rows])


def test_work_is_compared_with_one_node_alone(report: Scaling) -> None:
    found = {(row.mode, row.n): (report.speedup(row), report.efficiency(row)) for row in report.rows}
    assert found[("alone", 1)] == (1.0, 1.0)
    assert found[("plain", 2)] == pytest.approx((1.0, 0.5))
    assert found[("local", 2)] == pytest.approx((2.0, 1.0))
    assert found[("plain", 3)] == pytest.approx((0.75, 0.25))


def test_what_is_not_computing_is_exposed(report: Scaling) -> None:
    assert [report.exposed_s(row) for row in report.rows] == pytest.approx([0.0, 0.1, 0.0, 0.3])


def test_nodes_of_several_gpus_are_compared_with_one_node_in_the_same_mode() -> None:
    rows = [_row("plain", 1, 0.1) | {"ranks": 4}, _row("local", 1, 0.05) | {"ranks": 4}]
    rows += [_row("plain", 2, 0.2) | {"ranks": 8}, _row("local", 2, 0.05) | {"ranks": 8}]
    report = scaling("large", [_MACHINE | {"unit": 4}, _MODEL, *rows])
    assert [report.efficiency(row) for row in report.rows] == pytest.approx([1.0, 1.0, 0.5, 1.0])


def test_a_script_that_was_run_once_for_each_count_is_one_report() -> None:
    told = []
    for n, step_s in ((1, 0.1), (2, 0.2)):
        told += [_MACHINE | {"n": n}, {"kind": "model", "name": "train.py", "parameters": 10, "gradient_bytes": 40}]
        told += [_row("script", n, step_s) | {"model": "train.py"}]
    report = scaling("two", told)
    assert (report.machine.n, len(report.models)) == (2, 1)
    assert [report.efficiency(row) for row in report.rows] == pytest.approx([1.0, 0.5])


def test_the_json_has_a_version_and_what_was_compared(report: Scaling) -> None:
    found: Any = report.to_json()
    assert (found["version"], found["where"], found["machine"]["backend"]) == (1, "three", "gloo")
    assert found["models"][0]["compute_s"] == 0.1
    assert {"steps_s", "speedup", "efficiency", "exposed_s", "step_s", "samples_s"} <= set(found["rows"][0])


def test_a_newer_gauge_may_tell_more() -> None:
    assert scaling("x", [_MACHINE | {"colour": "red"}, _MODEL, {"kind": "weather"}, _row("alone", 1, 0.1)]).rows


def test_the_table_has_a_line_per_row_and_only_columns_with_something_in_them(report: Scaling) -> None:
    table = scaling_view.table(report, report.models[0])
    assert table.columns[:2] == ["MODE", "NODES"]
    assert "TFLOP/S" not in table.columns
    assert [row[:3] for row in table.rows] == [
        ["alone", "1", "100 ms"],
        ["plain", "2", "200 ms"],
        ["local", "2", "100 ms"],
        ["plain", "3", "400 ms"],
    ]
    assert "25.0%" in table.rows[3]


def test_a_machine_that_was_late_is_warned_of(report: Scaling) -> None:
    (warning,) = scaling_view.warnings(report)
    assert "plain on 3, 30 ms late" in warning


def test_charts_compare_modes_with_the_best_there_could_be(report: Scaling) -> None:
    efficiency, work = scaling_view.charts(report, report.models[0])
    assert [series.name for series in efficiency.series] == ["plain", "local"]
    assert [x for x, _ in efficiency.series[0].points] == [0.0, 1.0, 2.0]
    assert [y for _, y in efficiency.series[0].points] == pytest.approx([100.0, 50.0, 25.0])
    assert work.series[-1].points == ((0.0, 1.0), (1.0, 2.0), (2.0, 3.0))


def test_one_node_alone_has_no_charts_and_the_page_is_whole() -> None:
    report = scaling("one", [_MACHINE, _MODEL, _row("alone", 1, 0.1)])
    assert scaling_view.charts(report, report.models[0]) == []
    assert "<table>" in scaling_view.html(report)


def test_a_gauge_is_told_only_what_was_asked_for() -> None:
    assert Training(models=("gpt-1m",), modes=("plain", "local"), compute_ms=100, every=10).arguments() == [
        *("--models", "gpt-1m", "--modes", "plain,local", "--precision", "fp32"),
        *("--compute-ms", "100", "--every", "10"),
    ]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"models": ("gpt-9t",)}, "--models gpt-9t"),
        ({"modes": ("psychic",)}, "--modes psychic"),
        ({"precision": "fp8"}, "--precision fp8"),
        ({"models": ("gpt-1m",), "sequence": 4096}, "at most 128 words"),
        ({"compiled": True, "compute_ms": 10.0}, "--compile and --compute-ms"),
    ],
)
def test_what_cannot_be_measured_is_said_before_anything_is_sent(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Training(**wrong)


def test_a_scripts_arguments_come_last(tmp_path: Any) -> None:
    words = Script(("train.py", "--lr", "1"), tmp_path, every=10).arguments(2)
    assert words == ["--count", "2", "--every", "10", "train.py", "--lr", "1"]
