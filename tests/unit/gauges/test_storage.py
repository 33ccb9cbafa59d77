"""The gauge of a shared folder, as two nodes run it, on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.unit.inside.scripts import SOURCES

from corral.measure import storage
from corral.measure.records import Records


def start(folder: Path, rank: int, *options: str, nodes: int = 2) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "corral.gauges.storage", str(folder), *options],
        env=os.environ
        | {"PYTHONPATH": str(SOURCES), "SLURM_PROCID": str(rank), "SLURM_NTASKS": str(nodes)}
        | {"SLURMD_NODENAME": "localhost" if rank == 0 else f"node{rank}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_two_nodes_measure_alone_and_together_and_leave_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "bench"
    nodes = [start(folder, rank, "--size-bytes=3000000", "--files=20") for rank in (0, 1)]
    outputs = [node.communicate(timeout=60) for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], outputs
    assert not folder.exists()
    report = storage.report_of(Records().take(outputs[0][0]), "lab", str(tmp_path))
    assert [figures.node for figures in report.alone] == ["localhost", "node1"]
    for figures in (*report.alone, *report.together):
        assert set(figures.per_s) == {*storage.THROUGHPUT, *storage.SMALL}
        assert min(figures.per_s.values()) > 0
    assert report.total.per_s["write"] == sum(figures.per_s["write"] for figures in report.together)
    assert outputs[1][0] == b""


def test_a_node_that_is_stopped_takes_its_files_along(tmp_path: Path) -> None:
    folder = tmp_path / "bench"
    node = start(folder, 0)
    deadline = time.monotonic() + 20
    while not (folder / "rally").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    node.terminate()
    assert b"corral: stopped" in node.communicate(timeout=20)[1]
    assert not folder.exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    node = start(tmp_path / "missing/bench", 0, nodes=1)
    assert f"corral: {tmp_path}/missing/bench: No such file or directory" in node.communicate(timeout=20)[1].decode()
    assert node.returncode == 1
