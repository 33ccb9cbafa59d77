"""The gauges of training as somebody without a cluster runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from corral.measure.records import Record, Records

pytest.importorskip("torch")

_OWN = """
import sys
import torch

model = torch.nn.Linear(8, 8)
first, second = (torch.optim.SGD(model.parameters(), lr=0.1) for _ in range(2))
for _ in range(int(sys.argv[1])):
    model(torch.ones(1, 8)).sum().backward()
    first.step()
    second.step()
print("came to its end")
"""


def _gauge(name: str, *words: str) -> tuple[int, list[Record], list[str]]:
    done = subprocess.run(
        [sys.executable, "-m", f"corral.gauges.{name}", *words],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        check=False,
    )
    records = Records()
    return done.returncode, records.take(done.stdout), records.words


@pytest.mark.parametrize("together", ["1", "4"])
def test_one_process_keeps_to_a_stated_time(together: str) -> None:
    pace = ("--compute-ms", "60", "--seconds", "0.6", "--accumulate", together)
    code, told, _ = _gauge("training", "--models", "gpt-1m", *pace)
    assert code == 0
    assert [record["kind"] for record in told] == ["machine", "model", "row"]
    assert told[2]["mode"] == "alone"
    # A busy machine may be late, but never early.
    assert 0.0599 <= told[2]["step_s"] < 0.12
    assert told[2]["samples_s"] == pytest.approx(1 / told[2]["step_s"])


def test_real_computing_says_where_its_time_goes() -> None:
    code, told, _ = _gauge("training", "--models", "gpt-1m", "--seconds", "0.3", "--precision", "bf16")
    assert code == 0
    row = told[2]
    assert row["tflop_s"] > 0
    assert 0 < row["forward_s"] + row["backward_s"] + row["optimizer_s"] < 10 * row["step_s"]


def test_a_model_that_there_is_not_is_an_error_of_usage() -> None:
    code, told, words = _gauge("training", "--models", "gpt-5m")
    assert (code, told) == (2, [])
    assert any("there is no 'gpt-5m'" in line for line in words)


def test_a_script_is_ended_when_enough_of_its_first_optimizers_steps_were_timed(tmp_path: Path) -> None:
    script = tmp_path / "own.py"
    script.write_text(_OWN)
    code, told, words = _gauge("script", "--seconds", "0.1", str(script), "100000000")
    assert code == 0
    assert "came to its end" not in words
    assert [record["kind"] for record in told] == ["machine", "model", "row"]
    assert told[1]["parameters"] == 72
    assert (told[2]["mode"], told[2]["windows"]) == ("script", 3)


def test_a_script_that_ends_too_early_has_failed(tmp_path: Path) -> None:
    script = tmp_path / "own.py"
    script.write_text(_OWN)
    code, told, words = _gauge("script", str(script), "3")
    assert (code, told) == (1, [])
    assert any("ended after 3 optimizer steps" in line for line in words)
