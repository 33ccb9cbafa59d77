"""Metrics: what a script reports is what others read."""

from __future__ import annotations

import math
from pathlib import Path

from tests.unit.inside.scripts import run

from corral import metrics

REPORTING = """
    from corral import metrics
    class Scalar:
        def item(self): return 0.25
    metrics.report(step=1, loss=Scalar(), note="first")
    metrics.report(step=2, loss=float("nan"))
"""


def test_reports_are_read_back_with_their_time_and_scalars_of_libraries_as_numbers(tmp_path: Path) -> None:
    assert run(REPORTING, tmp_path)[1] == ""
    first, second = metrics.parse((tmp_path / "metrics.jsonl").read_text())
    assert first.pop("time") > 1_700_000_000
    assert first == {"step": 1, "loss": 0.25, "note": "first"}
    assert math.isnan(second["loss"])


def test_a_second_run_adds_to_the_first(tmp_path: Path) -> None:
    run(REPORTING, tmp_path)
    run(REPORTING, tmp_path)
    assert [line["step"] for line in metrics.parse((tmp_path / "metrics.jsonl").read_text())] == [1, 2, 1, 2]


def test_outside_of_a_job_reports_are_printed() -> None:
    assert [line["step"] for line in metrics.parse(run(REPORTING, None)[1])] == [1, 2]


def test_only_the_first_rank_reports(tmp_path: Path) -> None:
    run(REPORTING, tmp_path, RANK="1")
    assert not (tmp_path / "metrics.jsonl").exists()


def test_a_torn_line_is_left_out() -> None:
    assert metrics.parse('{"step": 1}\n{"step": 2, "lo') == [{"step": 1}]
    assert metrics.parse("") == []
