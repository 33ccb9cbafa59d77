"""From what the gauge told to a report: shares, words, a table, JSON."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden.compare import assert_golden

from corral.cli.bench_view import report_lines
from corral.measure import collective_page
from corral.measure.collective import CollectiveReport, report_of
from corral.measure.records import Record

GOLDEN = Path(__file__).parents[2] / "golden/bench"
MIB = 1 << 20


def told(time_s: float, wrong: int = 0, iterations: int = 20) -> Record:
    return {"time_s": time_s, "wrong": wrong, "iterations": iterations}


def row(variant: str, size_bytes: int, out_s: float, in_s: float | None, **more: int) -> Record:
    return {
        "kind": "row",
        "variant": variant,
        "how": "gloo, one process group" if variant == "untuned" else "gloo, 4 process groups as lanes",
        "size_bytes": size_bytes,
        "count": size_bytes // 4,
        "type": "float",
        "redop": "sum",
        "out_of_place": told(out_s, **more),
        "in_place": None if in_s is None else told(in_s),
    }


def records(*, links: bool = True, wrong: int = 0) -> list[Record]:
    rates = [("node0", "node1", 2.39e9), ("node1", "node2", 2.40e9), ("node2", "node0", 2.41e9)]
    tcp = {
        "kind": "tcp",
        "links": [{"from": a, "to": b, "ring_bit_s": rate, "single_bit_s": 2.4e9} for a, b, rate in rates],
    }
    return [
        {
            "kind": "setup", "collective": "allreduce", "backend": "gloo", "device": "cpu", "torch": "2.13.0",
            "ranks": 3, "hosts": ["node0", "node1", "node2"],
        },
        *([tcp] if links else []),
        row("untuned", 8, 400e-6, 380e-6),
        row("tuned", 8, 410e-6, 390e-6),
        row("untuned", 64 * MIB, 0.6, 0.58),
        row("tuned", 64 * MIB, 0.32, 0.31, iterations=3, wrong=wrong),
    ]  # fmt: skip


def report(**options: bool | int) -> CollectiveReport:
    return report_of(records(**options), "lab")  # type: ignore[arg-type]  # each test gives its own


def test_the_headline_says_how_much_of_the_link_is_used_with_and_without_tuning() -> None:
    assert collective_page.headline(report()) == (
        "tuned 2.27 Gbit/s at 64 MiB = 95 % of the link's raw TCP (2.39 Gbit/s); untuned 51 %"
    )


def test_the_limit_is_the_slowest_link_of_the_ring_and_unknown_where_one_is_unknown() -> None:
    assert report().limit_bit_s == 2.39e9
    assert report(links=False).limit_bit_s is None
    broken = records()
    broken[1]["links"][2]["ring_bit_s"] = None
    found = report_of(broken, "lab")
    assert found.limit_bit_s is None
    assert "raw TCP could not be measured between all nodes: is a port closed?" in collective_page.remarks(found)
    assert collective_page.headline(found) == "tuned 2.27 Gbit/s at 64 MiB; untuned 1.21 Gbit/s"


def test_wrong_values_are_told_before_anybody_trusts_the_rest() -> None:
    assert report(wrong=3).wrong == 3
    assert "3 values were wrong" in collective_page.remarks(report(wrong=3))[0]


def test_a_run_that_stopped_early_says_at_which_size() -> None:
    stopped = {"kind": "stopped", "size_bytes": 16 * MIB, "time_s": 4.2}
    assert "stopped at 16 MiB" in collective_page.remarks(report_of([*records(), stopped], "lab"))[0]


def test_the_json_has_what_the_documentation_names() -> None:
    data = report().to_json()
    assert (data["version"], data["bench"], data["ranks"], data["hosts"]) == (
        *(1, "allreduce", 3),
        ["node0", "node1", "node2"],
    )
    assert data["raw_tcp"]["limit_bit_s"] == 2.39e9
    assert data["raw_tcp"]["links"][0] == {
        "from": "node0",
        "to": "node1",
        "ring_bit_s": 2.39e9,
        "single_bit_s": 2.4e9,
    }
    tuned = data["variants"][1]
    assert tuned["name"] == "tuned"
    assert tuned["largest"]["share_of_raw_tcp"] == pytest.approx(0.951, abs=0.001)
    largest = tuned["rows"][-1]
    assert largest["out_of_place"]["busbw_bit_s"] == pytest.approx(8 * 64 * MIB / 0.32 * 4 / 3)
    assert largest["out_of_place"]["iterations"] == 3
    documented = (Path(__file__).parents[3] / "docs/bench.md").read_text()
    names = {*data, *tuned, *largest, *largest["in_place"], *tuned["largest"], *data["raw_tcp"]}
    assert {name for name in names if f"`{name}`" not in documented} == set()


@pytest.mark.parametrize("width", [120, 100, 80])
def test_the_table_fits_the_terminal(width: int) -> None:
    lines = report_lines(report(), width=width, color=False)
    table = [line for line in lines if line[:1] in (" ", "6")]
    assert table
    assert max(map(len, table)) <= width


def test_the_report_looks_as_it_did() -> None:
    text = "\n".join(report_lines(report(), width=120, color=False)) + "\n"
    assert_golden(GOLDEN / "allreduce.txt", text.encode())


def test_the_page_needs_nothing_else_and_has_chart_and_tables() -> None:
    page = collective_page.html(report())
    assert page.count("<table>") == 3
    assert page.count("<svg") == 1
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_one_rank_alone_has_no_bus() -> None:
    alone = records(links=False)
    alone[0]["ranks"] = 1
    assert "one rank alone" in collective_page.headline(report_of(alone, "this machine"))
