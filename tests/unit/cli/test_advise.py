"""`corral advise` where everything is given: no cluster is needed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CORRAL = str(Path(sys.executable).parent / "corral")
GIVEN = ("--link", "2.5gbit", "--step-ms", "180", "--params", "124m", "--batch", "8")


def advise(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([CORRAL, "advise", *args], capture_output=True, text=True, check=False)


def test_the_recommendation_comes_first_and_what_it_rests_on_last() -> None:
    done = advise(*GIVEN)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("For one training: use local steps with H=50")
    assert any(line.startswith("DDP, lanes ") for line in lines)
    assert "given: 2.5gbit; assumed: 94% of it for TCP" in done.stdout
    assert lines[-1].startswith("error of predicted step times:")


def test_json_has_every_mode_on_every_number_of_nodes() -> None:
    done = advise(*GIVEN, "--nodes", "4", "--json")
    report = json.loads(done.stdout)
    assert report["version"] == 1
    assert report["work"] | {"source": ""} == {
        "model": None, "step_s": 0.18, "parameters": 124_000_000, "batch": 8, "source": "",
    }  # fmt: skip
    assert {one["nodes"] for one in report["predictions"]} == {1, 2, 3, 4}
    assert {one["mode"] for one in report["predictions"]} == {"plain", "ddp", "bf16", "powersgd", "local"}
    assert report["recommendation"]["mode"]["mode"] == "local"
    alone = [one for one in report["predictions"] if one["nodes"] == 1]
    assert all(one["step_s"] == 0.18 and one["efficiency"] == 1 for one in alone)


def test_a_page_with_charts_is_written(tmp_path: Path) -> None:
    page = tmp_path / "advice.html"
    assert advise(*GIVEN, "--html", str(page)).returncode == 0
    assert page.read_text().count("<svg") == 3
    assert "use local steps with H=50" in page.read_text()


def test_plots_are_drawn_in_the_terminal() -> None:
    assert "Efficiency on 3 nodes by batch" in advise(*GIVEN, "--plot").stdout


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--link", "2.5gbit"), "what is trained?"),
        (("--link", "fast", "--step-ms", "180", "--params", "124m"), "'fast' is no link rate"),
        ((*GIVEN, "--html", "/nowhere/at/all.html"), "/nowhere/at/all.html cannot be written"),
        ((*GIVEN, "--from", "/nowhere.json"), "/nowhere.json"),
    ],
    ids=str,
)
def test_bad_input_is_one_clear_error(args: tuple[str, ...], words: str) -> None:
    done = advise(*args)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert words in line
