"""The tournament of nodes: its plan, and a real one on this machine's loopback."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from itertools import combinations

import pytest

from corral.gauges.pairs import rounds
from corral.gauges.report import MARK


@pytest.mark.parametrize("count", [2, 3, 4, 7, 8])
def test_everybody_meets_everybody_once_and_nobody_two_at_a_time(count: int) -> None:
    players = [f"n{number}" for number in range(count)]
    plan = rounds(players)
    assert sorted(pair for pairs in plan for pair in pairs) == sorted(combinations(players, 2))
    for pairs in plan:
        busy = [player for pair in pairs for player in pair]
        assert len(busy) == len(set(busy))
    assert len(plan) == (count - 1 if count % 2 == 0 else count)


def test_three_processes_measure_each_other() -> None:
    players = {"a": "127.0.0.2", "b": "127.0.0.3", "c": "127.0.0.4"}
    with socket.create_server(("127.0.0.2", 0)) as free:
        port = free.getsockname()[1] // 2 * 2
    command = [sys.executable, "-m", "corral.gauges.pairs", str(port), "0.1", *(f"{n}={a}" for n, a in players.items())]
    processes = [
        subprocess.Popen(command, env={**os.environ, "SLURMD_NODENAME": name}, stdout=subprocess.PIPE, text=True)
        for name in players
    ]
    lines = [line for process in processes for line in process.communicate(timeout=60)[0].splitlines()]
    told = [json.loads(line.removeprefix(MARK)) for line in lines]
    pairs = {(one["a"], one["b"]): one for one in told if one["kind"] == "pair"}
    assert set(pairs) == {("a", "b"), ("a", "c"), ("b", "c")}
    assert all(one["problem"] == "" and one["there_bit_s"] > 1e6 and one["back_bit_s"] > 1e6 for one in pairs.values())
    assert all(0 < one["latency_s"] < 0.1 for one in pairs.values())
    assert {one["speed_bit_s"] for one in told if one["kind"] == "link"} == {None}
