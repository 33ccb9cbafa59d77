"""Reports of the trials become one table, the best first."""

from __future__ import annotations

import csv
import io
import json
import math

import pytest

from corral.errors import InputError
from corral.jobs.sweep.results import (
    Objective,
    TrialResult,
    check_metric,
    guess_objective,
    last_report,
    parse_objective,
    parse_reports,
    ranked,
    result,
)
from corral.jobs.sweep.space import Trial
from corral.jobs.sweep.table import result_table, to_csv, to_json
from corral.jobs.sweep.trials import TrialState

LOSS = Objective("loss", minimize=True)


def one(index: int, *lines: str, best: Objective | None = None) -> TrialResult:
    return result(Trial(index, (("lr", f"1e-{index}"),)), TrialState.DONE, parse_reports("\n".join(lines)), best)


def test_the_last_value_of_each_metric_counts_though_not_all_come_together() -> None:
    found = one(0, '{"step": 1, "loss": 2.0}', '{"acc": 0.5}', '{"step": 2, "loss": 1.0}')
    assert found.values == {"step": 2, "loss": 1.0, "acc": 0.5}
    assert len(found.history) == 3


def test_with_best_the_values_are_those_of_the_best_moment() -> None:
    lines = [
        '{"step": 1, "loss": 2.0}',
        '{"step": 2, "loss": 0.5}',
        '{"step": 3, "loss": NaN}',
        '{"step": 4, "loss": 3}',
    ]
    assert one(0, *lines, best=LOSS).values == {"step": 2, "loss": 0.5}
    assert one(0, *lines, best=Objective("loss", minimize=False)).values["step"] == 4
    assert one(0, *lines, best=Objective("acc", minimize=False)).values["step"] == 4


def test_half_lines_and_other_output_are_passed_over() -> None:
    assert parse_reports('{"loss": 1}\nhello\n[1]\n{"loss": {"deep": 1}}\n{"loss": 0.') == ({"loss": 1},)


def test_without_metrics_the_last_json_line_of_the_log_counts() -> None:
    assert last_report('start\n{"loss": 2}\n{"loss": 1, "model": "a"}\n{not json}\nbye\n') == (
        {"loss": 1, "model": "a"},
    )
    assert last_report("nothing here\n") == ()


def test_the_best_comes_first_then_what_diverged_and_what_said_nothing_last() -> None:
    results = [
        one(0),
        one(1, '{"loss": NaN}'),
        one(2, '{"loss": 3}'),
        one(3, '{"loss": 1}'),
        one(4, '{"loss": Infinity}'),
    ]
    assert [found.trial.index for found in ranked(results, LOSS)] == [3, 2, 1, 4, 0]
    assert [found.trial.index for found in ranked(results, Objective("loss", minimize=False))] == [2, 3, 1, 4, 0]
    assert [found.trial.index for found in ranked(reversed(results), None)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("names", "guess"),
    [
        (["step", "loss", "acc"], Objective("loss", minimize=True)),
        (["train_loss", "val_acc", "val_loss"], Objective("val_acc", minimize=False)),
        (["lr", "eval/reward"], Objective("eval/reward", minimize=False)),
        (["glossary", "step"], None),
    ],
)
def test_the_metric_to_compare_by_is_guessed_from_its_name(names: list[str], guess: Objective | None) -> None:
    assert guess_objective([dict.fromkeys(names, 1.0)]) == guess


def test_a_wrong_objective_is_one_clear_error() -> None:
    assert parse_objective("max:val/acc") == Objective("val/acc", minimize=False)
    with pytest.raises(InputError, match="--best loss: write min:METRIC"):
        parse_objective("loss")
    with pytest.raises(InputError, match=r"no trial reported 'los'. Reported were: step, loss"):
        check_metric(Objective("los", minimize=True), [one(0), one(1, '{"step": 1, "loss": 2}')])


def test_csv_has_a_row_per_trial_and_any_value_survives_it() -> None:
    odd = result(Trial(0, (("lr", 'a,"b" c'),)), TrialState.FAILED, [{"loss": math.nan, "note": "x\ny"}])
    text = to_csv(result_table([odd, one(1, '{"loss": 0.1}')]))
    assert text.count("\r\n") == 3
    assert list(csv.reader(io.StringIO(text, newline=""))) == [
        ["trial", "state", "lr", "loss", "note"],
        ["0", "failed", 'a,"b" c', "nan", "x\ny"],
        ["1", "done", "1e-1", "0.1", ""],
    ]


def test_a_metric_named_like_a_parameter_has_a_column_of_its_own() -> None:
    table = result_table([one(1, '{"lr": 0.05, "state": 2}')])
    assert table.columns == ("trial", "state", "lr", "reported lr", "reported state")
    assert table.rows == ((1, "done", "1e-1", 0.05, 2),)


def test_json_is_valid_even_where_a_loss_is_not_a_number() -> None:
    found = json.dumps(to_json(result_table([one(1, '{"loss": NaN}')])), allow_nan=False)
    assert json.loads(found) == [{"trial": 1, "state": "done", "lr": "1e-1", "loss": None}]
