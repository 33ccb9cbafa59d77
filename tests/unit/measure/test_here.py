"""Gauges on this very machine, without Slurm."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.unit.inside.scripts import python_with_torch
from tests.unit.jobs.bench import program

from corral.errors import InputError
from corral.measure.collective import report_of
from corral.measure.here import gauge_here
from corral.measure.records import Record
from corral.measure.send import GaugeFailed


def told(environment: Path, *arguments: str, ranks: int = 0) -> list[Record]:
    async def listen() -> list[Record]:
        records = gauge_here("corral.gauges.collective", arguments, str(environment), ranks=ranks)
        return [record async for record in records]

    return asyncio.run(listen())


def test_two_processes_measure_an_all_reduce() -> None:
    environment = Path(python_with_torch()).parent.parent
    options = ("--min-bytes=1048576", "--max-bytes=1048576", "--iterations=2", "--backend=gloo")
    report = report_of(told(environment, "allreduce", *options, ranks=2), "this machine")
    assert (report.ranks, report.wrong, report.links) == (2, 0, ())
    assert [variant.name for variant in report.variants] == ["untuned", "tuned"]


def test_without_torch_the_error_says_so(tmp_path: Path) -> None:
    program(tmp_path / "bin", "python", 'exec python3 -S "$@"')
    with pytest.raises(InputError, match=f"{tmp_path}/bin/python has no PyTorch"):
        told(tmp_path, "allreduce")


def test_a_gauge_that_fails_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    program(tmp_path / "bin", "python", '[ "$1" != -c ] || { echo 1; exit; }\necho disk full >&2; exit 3')
    with pytest.raises(GaugeFailed, match="failed here \\(exit code 3\\)\ndisk full"):
        told(tmp_path, "allreduce")
