"""Charts as text that anybody can read in a terminal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.golden.compare import assert_golden
from tests.unit.plots.charts import BARS, CURVES, EMPTY, SCATTER

from corral.plots.chart import Chart, Series
from corral.plots.terminal import as_text, draw

GOLDEN = Path(__file__).parents[2] / "golden" / "plots"


def test_learning_curves_look_as_they_did() -> None:
    assert_golden(GOLDEN / "curves.txt", as_text(draw(CURVES, 72, 14)).encode())


def test_no_line_is_wider_than_asked_for() -> None:
    for chart in (CURVES, SCATTER, BARS):
        for width in (40, 80, 100):
            assert max(len(line) for line in as_text(draw(chart, width)).split("\n")) <= width


def test_a_higher_value_is_further_up_and_a_larger_one_further_right() -> None:
    lines = as_text(draw(replace(SCATTER, series=SCATTER.series[:1]), 60, 10)).split("\n")
    (upper, first), (lower, second) = [(row, line.index("●")) for row, line in enumerate(lines) if "●" in line]
    assert upper < lower
    assert first < second


def test_points_without_a_place_are_left_out() -> None:
    text = as_text(draw(SCATTER, 60))
    body = text[: text.index("└")]
    assert (body.count("●"), body.count("▲")) == (2, 2)


def test_a_line_has_no_gaps_between_its_points() -> None:
    flat = Chart("", "", "", (Series("", ((0.0, 1.0), (0.37, 1.0), (1.0, 1.0))),))
    body = "".join(as_text(draw(flat, 50, 5)).partition("└")[0])
    drawn = [character for character in body if "\u2800" < character <= "\u28ff"]
    assert len(set(drawn)) == 1
    assert len(drawn) > 40


def test_what_matters_is_coloured_and_drawn_over_what_is_muted() -> None:
    same = CURVES.series[0].points
    lines = draw(replace(CURVES, series=(Series("a", same), Series("b", same, muted=True))), 60)
    assert {span.colour for line in lines for span in line} == {None, 0}


def test_bars_have_their_lengths_and_values() -> None:
    lines = [line for line in as_text(draw(BARS, 60)).split("\n") if "│" in line]
    lengths = [line.count("█") for line in lines]
    assert [line.split()[-1] for line in lines] == ["1", "4", "2", "3.5"]
    assert lengths[1] == max(lengths)
    assert lengths[2] == lengths[1] // 2


def test_a_legend_names_what_is_to_be_told_apart() -> None:
    assert as_text(draw(CURVES)).rstrip().endswith("━ #3 lr=0.1  ━ #1 lr=0.01")
    assert "●" not in as_text(draw(replace(SCATTER, series=SCATTER.series[:1]))).split("\n")[-2]


def test_a_chart_without_points_says_so() -> None:
    assert "nothing to plot yet" in as_text(draw(EMPTY))
