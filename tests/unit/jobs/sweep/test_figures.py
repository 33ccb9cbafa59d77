"""Which charts a sweep's results are worth."""

from __future__ import annotations

from corral.jobs.sweep.figures import charts, learning_curves, parameter_charts, spread_over_decades
from corral.jobs.sweep.report import results_page
from corral.jobs.sweep.results import Objective, Report, TrialResult, ranked, result
from corral.jobs.sweep.space import Trial
from corral.jobs.sweep.trials import TrialState

LOSS = Objective("loss", minimize=True)


def one(index: int, *reports: Report, **params: str) -> TrialResult:
    return result(Trial(index, tuple(params.items())), TrialState.DONE, reports)


def grid() -> list[TrialResult]:
    """Twelve learning rates, two activations and two seeds."""
    found = []
    for index in range(48):
        rate = f"{10 ** -(1 + index % 12 / 3):.3g}"
        params = {"lr": rate, "act": "relu" if index % 2 else "gelu", "seed": str(index // 24), "data": "mnist"}
        found.append(one(index, {"step": 1, "loss": 2.0}, {"step": 2, "loss": 1 + index / 100}, **params))
    return ranked(found, LOSS)


def test_each_parameter_that_varies_has_a_chart_but_repetitions_do_not() -> None:
    assert [chart.title for chart in parameter_charts(grid(), LOSS)] == ["loss by lr", "loss by act"]
    only_seeds = [one(index, {"loss": float(index)}, seed=str(index)) for index in range(3)]
    assert [chart.title for chart in parameter_charts(only_seeds, LOSS)] == ["loss by seed"]


def test_colours_are_another_parameter_with_few_values() -> None:
    by_rate, by_act = parameter_charts(grid(), LOSS)
    assert [series.name for series in by_rate.series] == ["act=gelu", "act=relu"]
    assert [series.name for series in by_act.series] == [""]
    assert by_rate.series[0].notes[0].startswith("#0 lr=0.1 act=gelu seed=0 data=mnist: loss 1")


def test_many_numbers_have_an_axis_and_few_stand_side_by_side_in_their_order() -> None:
    by_rate, by_act = parameter_charts(grid(), LOSS)
    assert by_rate.x_log
    assert by_rate.x_names == ()
    assert by_act.x_names == ("gelu", "relu")
    layers = [one(index, {"loss": 1.0}, layers=str(2**index)) for index in (3, 1, 2)]
    assert parameter_charts(layers, LOSS)[0].x_names == ("2", "4", "8")


def test_texts_that_are_all_different_are_no_axis() -> None:
    assert parameter_charts([one(n, {"loss": 1.0}, prompt=f"text {n}") for n in range(30)], LOSS) == []


def test_trials_without_the_metric_are_left_out_of_charts() -> None:
    results = [*grid(), one(90, {"loss": float("nan")}, lr="1", act="x"), one(91, lr="2", act="y")]
    assert parameter_charts(results, LOSS) == parameter_charts(grid(), LOSS)


def test_curves_show_the_best_in_colour_and_the_others_behind() -> None:
    chart = learning_curves(grid(), LOSS)
    assert chart is not None
    assert [series.name.split()[0] for series in chart.series if not series.muted] == ["#0", "#1", "#2", "#3", "#4"]
    assert sum(series.muted for series in chart.series) == 43
    assert chart.series[0].points == ((1.0, 2.0), (2.0, 1.0))


def test_what_was_reported_again_after_a_checkpoint_replaces_what_was_before() -> None:
    reports: list[Report] = [{"step": step, "loss": loss} for step, loss in ((1, 5), (2, 4), (3, 9), (2, 3), (3, 2))]
    chart = learning_curves([one(0, *reports)], LOSS)
    assert chart is not None
    assert chart.series[0].points == ((1, 5), (2, 3), (3, 2))


def test_long_curves_are_thinned_out_but_end_where_they_ended() -> None:
    reports: list[Report] = [{"step": step, "loss": 1 / (step + 1)} for step in range(10_000)]
    chart = learning_curves([one(0, *reports)], LOSS)
    assert chart is not None
    assert len(chart.series[0].points) <= 201
    assert chart.series[0].points[-1][0] == 9999


def test_one_report_per_trial_makes_no_curves() -> None:
    assert learning_curves([one(0, {"loss": 1.0}), one(1, {"loss": 2.0})], LOSS) is None
    assert charts([one(0, {"note": "x"})], None) == []


def test_an_axis_is_logarithmic_only_where_that_tells_values_apart() -> None:
    assert spread_over_decades([10.0**-power for power in range(6)])
    assert not spread_over_decades([float(number) for number in range(1, 101)])
    assert not spread_over_decades([0.0, 1.0, 1000.0])


def test_a_loss_that_went_down_a_long_way_is_shown_as_such() -> None:
    values = (0.002, 0.1, 0.11, 0.12, 0.3)
    results = [one(index, {"loss": value, "acc": value}, x=str(index)) for index, value in enumerate(values)]
    assert parameter_charts(results, LOSS)[0].y_log
    assert not parameter_charts(results, Objective("acc", minimize=False))[0].y_log


def test_the_page_names_the_best_and_lists_every_trial() -> None:
    text = results_page("Sweep", grid(), LOSS)
    assert "lowest loss 1: trial 0 (lr=0.1 act=gelu seed=0 data=mnist)" in text
    assert text.count("<svg") == 3
    assert text.count("<tr>") == 49
    assert "nothing to plot" not in results_page("Sweep", [one(0, x="1")], None)
