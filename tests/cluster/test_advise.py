"""Advice that rests on a link which is measured there and then."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.cluster.lab import make_lab
from tests.cluster.people import needs_torch


@needs_torch
@pytest.mark.timeout(600)
def test_advice_on_a_cluster_rests_on_its_measured_link(tmp_path: Path, image_cache: Path) -> None:
    lab = make_lab(
        tmp_path, image_cache, name=f"advise-{os.getpid()}", machines=2, local={"link": "1gbit"},
        storage={"shared": {}}, users={"ada": {}},
    )  # fmt: skip
    try:
        lab.corral("up", timeout_s=300)
        report = lab.json("advise", "--step-ms", "180", "--params", "124m", timeout_s=300)
    finally:
        lab.corral("down")
    link = report["link"]
    assert 0.5e9 < link["bit_s"] < 1.05e9
    assert 0.4 < link["lanes_share"] < 1.3
    assert link["source"].startswith("measured on 2 nodes: now, on advise-")
    assert report["nodes"] == 2
    # 500 MB of gradients at a gigabit: nothing hides the seconds that DDP needs.
    (ddp,) = [one for one in report["predictions"] if (one["mode"], one["nodes"], one["options"]) == ("ddp", 2, {})]
    assert 3 < ddp["step_s"] < 10
    assert report["recommendation"]["mode"]["mode"] == "local"
