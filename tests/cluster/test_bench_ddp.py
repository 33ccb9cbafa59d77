"""Training on one to three machines with slow links between them, as `corral bench ddp` measures it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.lab import Lab, make_lab
from tests.cluster.people import needs_torch

pytestmark = [needs_torch, pytest.mark.timeout(900)]

_OWN = """
import time

import torch
from corral import train

run = train.init()
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
sync = train.Synchronizer(model, optimizer, "ddp")
while True:
    sync.model(torch.ones(1, 64)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    time.sleep(0.02)
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, image_cache: Path) -> Iterator[Lab]:
    lab = make_lab(
        tmp_path_factory.mktemp("bench-ddp"),
        image_cache,
        name=f"bench-ddp-{os.getpid()}",
        local={"link": "100mbit"},
        storage={"shared": {"mount": "/shared"}},
        users={"alice": {}},
    )
    with lab.while_up():
        yield lab


@pytest.fixture(scope="module")
def report(lab: Lab) -> Any:
    words = ("--models", "gpt-1m", "--modes", "plain,local", "--nodes", "1,3", "--compute-ms", "150")
    return lab.json("bench", "ddp", *words, "--every", "10", "--seconds", "1", timeout_s=400)


def test_over_a_slow_link_plain_ddp_is_slower_than_local_steps(report: Any) -> None:
    rows = {(row["mode"], row["n"]): row for row in report["rows"]}
    assert set(rows) == {("alone", 1), ("plain", 3), ("local", 3)}
    assert rows[("alone", 1)]["step_s"] >= 0.149
    # Two thirds of the gradients twice over 100 Mbit/s, of which a part is hidden behind backward.
    assert rows[("plain", 3)]["step_s"] > 0.3
    assert rows[("plain", 3)]["step_s"] > 1.5 * rows[("local", 3)]["step_s"]


def test_efficiency_is_work_done_by_n_times_one_node(report: Any) -> None:
    alone, *others = report["rows"]
    for row in others:
        assert row["speedup"] == pytest.approx(3 * alone["step_s"] / row["step_s"])
        assert row["efficiency"] == pytest.approx(row["speedup"] / 3)
        assert row["exposed_s"] == pytest.approx(max(0, row["step_s"] - alone["step_s"]))
    assert report["models"][0]["gradient_bytes"] == 4 * 1_040_768


def test_ones_own_script_is_timed_on_one_node_and_on_two(lab: Lab, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "own.py").write_text(_OWN)
    monkeypatch.chdir(tmp_path)
    found = lab.json("bench", "ddp", "--script", "own.py", "--nodes", "1,2", "--seconds", "1", timeout_s=400)
    assert [(row["model"], row["mode"], row["n"]) for row in found["rows"]] == [
        ("own.py", "script", 1),
        ("own.py", "script", 2),
    ]
    assert all(row["step_s"] >= 0.02 for row in found["rows"])
    assert found["models"][0]["parameters"] == 64 * 64 + 64
