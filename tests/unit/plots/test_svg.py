"""Charts as SVG and HTML that need nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.golden.compare import assert_golden
from tests.unit.plots.charts import BARS, CURVES, EMPTY, SCATTER

from corral.plots.chart import Chart, Kind, Series
from corral.plots.html import Section, Table, page
from corral.plots.svg import svg

GOLDEN = Path(__file__).parents[2] / "golden" / "plots"
SVG = "{http://www.w3.org/2000/svg}"


def test_a_scatter_chart_looks_as_it_did() -> None:
    assert_golden(GOLDEN / "scatter.svg", svg(SCATTER).encode())


@pytest.mark.parametrize("chart", [CURVES, SCATTER, BARS, EMPTY])
def test_every_chart_is_well_formed_and_loads_nothing(chart: Chart) -> None:
    text = svg(chart)
    ElementTree.fromstring(text)
    assert re.findall(r"(?:href|src|url)\s*[=(]", text) == []
    assert "prefers-color-scheme:dark" in text


def test_everything_lies_within_the_picture() -> None:
    for chart in (CURVES, SCATTER, BARS):
        root = ElementTree.fromstring(svg(chart))
        width, height = (float(number) for number in root.attrib["viewBox"].split()[2:])
        for element in root.iter():
            for name in ("x", "cx", "x1", "x2"):
                assert 0 <= float(element.get(name, "0")) <= width
            for name in ("y", "cy", "y1", "y2"):
                assert 0 <= float(element.get(name, "0")) <= height


def test_names_are_text_and_never_markup() -> None:
    hostile = "<script>alert(1)</script>&\"'"
    chart = Chart(hostile, hostile, hostile, (Series(hostile, ((1, 1),)), Series("b", ((2, 2),))), kind=Kind.SCATTER)
    root = ElementTree.fromstring(svg(chart))
    assert root.find(f".//{SVG}script") is None
    assert root.findtext(f"{SVG}text") == hostile
    assert "<script" not in page(hostile, [Section(hostile, hostile, [chart], Table([hostile], [[hostile]]))])


def test_a_point_tells_about_itself_under_the_mouse() -> None:
    titles = [element.text for element in ElementTree.fromstring(svg(SCATTER)).iter(f"{SVG}title")]
    assert titles[0] == "act=relu · lr 1e-05, loss 0.9"
    noted = Chart("", "x", "y", (Series("", ((1, 1),), notes=("#7 lr=1",)),), kind=Kind.SCATTER)
    assert "<title>#7 lr=1</title>" in svg(noted)


def test_muted_lines_are_drawn_first_so_that_others_lie_over_them() -> None:
    strokes = re.findall(r'stroke="var\((--\w+)\)"', svg(CURVES))
    assert strokes == ["--muted", "--c0", "--c1"]


def test_the_longest_bar_belongs_to_the_largest_value() -> None:
    bars = [rect for rect in ElementTree.fromstring(svg(BARS)).iter(f"{SVG}rect") if rect.get("height") == "15"]
    widths = [float(rect.attrib["width"]) for rect in bars]
    assert widths == pytest.approx([widths[1] / 4, widths[1], widths[1] / 2, widths[1] * 3.5 / 4], abs=0.2)


def test_a_page_has_its_charts_and_its_table_with_numbers_at_the_right() -> None:
    table = Table(("trial", "state", "loss"), [("0", "done", "0.1"), ("1", "failed", "–")])
    text = page("Sweep", [Section("Charts", charts=[CURVES, BARS]), Section("Trials", table=table)])
    assert text.count("<svg") == 2
    assert '<th class="number">trial</th><th>state</th><th class="number">loss</th>' in text
    assert '<td class="number">–</td>' in text
