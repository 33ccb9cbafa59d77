"""Benchmarks on three real machines with links of 1 Gbit/s."""

from __future__ import annotations

import importlib.util
import os
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.lab import Lab, eventually, make_lab

TABLE = Path(__file__).parents[1] / "unit/measure/nccl_tests/all_reduce_perf.txt"
# Stands in for NVIDIA's program: prints a table where its first rank would.
STAND_IN = f"[ $SLURM_PROCID != 0 ] || cat <<'END'\n{TABLE.read_text()}END\n"

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="this Python has no PyTorch")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, image_cache: Path) -> Iterator[Lab]:
    lab = make_lab(
        tmp_path_factory.mktemp("bench"),
        image_cache,
        name=f"test-bench-{os.getpid()}",
        local={"link": "1gbit"},
        storage={},
        users={"ada": {}},
    )
    with lab.while_up():
        yield lab


@needs_torch
def test_an_all_reduce_is_right_and_told_beside_what_the_link_carries(lab: Lab) -> None:
    report = lab.json("bench", "allreduce", "-b", "1M", "-e", "16M", "-f", "4")
    assert (report["version"], report["ranks"], report["backend"]) == (1, 3, "gloo")
    assert sorted(report["hosts"]) == ["node0", "node1", "node2"]
    assert report["wrong"] == 0
    # On a busy machine less arrives; more than the cable carries would be a mistake in counting.
    assert 0.4e9 < report["raw_tcp"]["limit_bit_s"] < 1.01e9
    assert len(report["raw_tcp"]["links"]) == 3
    assert [variant["name"] for variant in report["variants"]] == ["untuned", "tuned"]
    for variant in report["variants"]:
        assert [row["size_bytes"] for row in variant["rows"]] == [1 << 20, 4 << 20, 16 << 20]
        assert 0.2e9 < variant["largest"]["busbw_bit_s"] < 1.01e9
        assert variant["largest"]["share_of_raw_tcp"] == pytest.approx(
            variant["largest"]["busbw_bit_s"] / report["raw_tcp"]["limit_bit_s"]
        )


@needs_torch
def test_people_read_a_table_a_plot_and_the_share_and_ctrl_c_cancels_the_job(lab: Lab, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    text = lab.corral("bench", "sendrecv", "-N", "2", "-b", "1M", "-e", "4M", "-f", "4", "--plot", "--html", str(page))
    assert "sendrecv on " in text
    assert "of the link's raw TCP" in text
    assert "busbw" in text
    assert page.read_text().startswith("<!doctype html>")
    with lab.start("bench", "allreduce", "-n", "100000") as process:
        assert process.stdout is not None
        assert "on 3 nodes" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert "cancelled" in process.stdout.read()
        assert process.wait(timeout=60) == 130
    eventually(lambda: not [job for job in lab.json("jobs") if job["state"] in ("RUNNING", "PENDING")])


def test_nccl_tests_run_on_the_nodes_and_their_table_is_read(lab: Lab) -> None:
    script = shlex.quote(f"#!/bin/bash\n{STAND_IN}")
    lab.ssh("node0", f"printf %s {script} > /shared/all_reduce_perf && chmod 755 /shared/all_reduce_perf")
    report = lab.json("bench", "allreduce", "--nccl-tests", "/shared")
    assert (report["program"], report["ranks"]) == ("nccl-tests, NCCL 2.27.5+cuda12.9", 3)
    assert report["variants"][0]["rows"][-1]["out_of_place"]["busbw_bit_s"] == pytest.approx(0.28 * 8e9)
    missing = lab.corral("bench", "allgather", "--nccl-tests", "/shared", exit_code=2)
    assert "there is no program /shared/all_gather_perf on node" in missing


def test_storage_is_timed_from_every_node_and_left_clean(lab: Lab) -> None:
    report = lab.json("bench", "storage", "--size", "8M", "--files", "50")
    for figures in (*report["alone"], *report["together"]):
        assert min(value for name, value in figures.items() if name != "node") > 0
    assert [figures["node"] for figures in report["alone"]] == ["node0", "node1", "node2"]
    assert report["total"]["write_byte_s"] == pytest.approx(sum(one["write_byte_s"] for one in report["together"]))
    assert lab.ssh("node0", "ls -a /shared/jobs/ada | grep -c bench || true").strip() == "0"


def test_bad_input_is_one_error_and_exit_code_2(lab: Lab) -> None:
    for arguments, words in (
        (("allreduce", "--nodes", "9"), "9 nodes with a GPU each were asked for"),
        (("allreduce", "--env", "nowhere"), "there is no virtual environment"),
        (("allreduce", "-b", "8", "-e", "4"), "less than --min-bytes"),
        (("storage", "--folder", "/nowhere"), "there is no such folder that ada may write to"),
    ):
        assert words in lab.corral("bench", *arguments, exit_code=2)
