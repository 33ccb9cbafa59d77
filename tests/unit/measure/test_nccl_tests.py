"""Tables of nccl-tests. The samples are written by hand in its documented format, not taken from a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from corral.errors import InputError
from corral.measure import nccl_tests
from corral.measure.send import GaugeFailed

SAMPLE = (Path(__file__).parent / "nccl_tests/all_reduce_perf.txt").read_text().splitlines()
# Before root and #wrong there were neither; sendrecv has no reduction, and may not look at what arrived in place.
OLD = """
# nThread 1 nGpus 2 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 10 validation: 1
#   Rank  0 Pid  71327 on box device  0 [0x1a] Tesla V100
#   Rank  1 Pid  71327 on box device  1 [0x1b] Tesla V100
#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2   float     sum    158.3    0.00    0.00  1e-07    158.4    0.00    0.00    N/A
""".strip().splitlines()


def test_a_table_becomes_the_same_report_as_our_own() -> None:
    report = nccl_tests.parse(SAMPLE, "allreduce", "lab")
    assert (report.ranks, report.hosts) == (3, ("node0", "node1", "node2"))
    assert (report.device, report.program) == ("NVIDIA GeForce RTX 5090", "nccl-tests, NCCL 2.27.5+cuda12.9")
    (variant,) = report.variants
    assert len(variant.rows) == 8
    largest = variant.largest
    assert (largest.size_bytes, largest.count, largest.type, largest.redop) == (16777216, 4194304, "float", "sum")
    assert largest.out_of_place is not None
    assert largest.out_of_place.time_s == pytest.approx(0.078912)
    assert largest.out_of_place.busbw_bit_s == pytest.approx(0.28 * 8e9)
    assert (largest.out_of_place.wrong, largest.out_of_place.iterations) == (0, 20)


def test_tables_of_older_releases_are_read_too() -> None:
    report = nccl_tests.parse(OLD, "allreduce", "lab")
    (row,) = report.variants[0].rows
    assert (report.ranks, report.hosts, report.device) == (2, ("box",), "Tesla V100")
    assert row.in_place is not None
    assert (row.in_place.wrong, row.in_place.iterations) == (None, 10)


def test_a_table_per_node_means_that_mpi_is_missing() -> None:
    with pytest.raises(InputError, match="built without MPI"):
        nccl_tests.parse([*SAMPLE, *SAMPLE], "allreduce", "lab")


def test_without_a_table_the_program_has_failed_and_its_words_are_shown() -> None:
    with pytest.raises(GaugeFailed, match="no table\nTest CUDA failure"):
        nccl_tests.parse(["Test CUDA failure common.cu:892 'no CUDA-capable device is detected'"], "allreduce", "lab")


def test_a_folder_of_programs_has_one_for_each_collective() -> None:
    script = nccl_tests.program("reducescatter", "/opt/nccl tests/build")[2]
    assert "program='/opt/nccl tests/build'" in script
    assert "program=$program/reduce_scatter_perf" in script
