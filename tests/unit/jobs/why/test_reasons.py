"""Slurm's reasons in plain words."""

from __future__ import annotations

import pytest

from corral.jobs.why.reasons import reason_of


@pytest.mark.parametrize(
    ("reason", "kind", "short"),
    [
        ("Resources", "room", "for free resources"),
        ("None", "slurm", "just arrived"),
        ("", "slurm", "just arrived"),
        ("DependencyNeverSatisfied", "never", "for a job that failed"),
        ("ReqNodeNotAvail,_UnavailableNodes:node[1-2]", "nodes", "nodes not available"),
        ("Nodes_required_for_job_are_DOWN,_DRAINED_or_reserved", "nodes", "nodes not available"),
        ("AssocGrpGRES", "limit", "limit: GPUs"),
        ("AssocGrpCpuLimit", "limit", "limit: CPUs"),
        ("AssocGrpCPURunMinutesLimit", "limit", "limit: CPUs"),
        ("QOSMaxGRESPerUser", "limit", "limit: GPUs"),
        ("QOSMaxJobsPerUserLimit", "limit", "limit: jobs"),
        ("QOSGrpNodeLimit", "limit", "limit: nodes"),
        ("AssocMaxJobsLimit", "limit", "limit: jobs"),
        ("QOSMaxCpuPerJobLimit", "never", "limit: CPUs"),
        ("QOSMinGRES", "never", "limit: GPUs"),
        ("QOSMaxWallDurationPerJobLimit", "never", "limit: time"),
        ("launch_failed_requeued_held", "held", "held"),
        ("SomethingNew", "slurm", "SomethingNew"),
    ],
)
def test_every_reason_has_a_kind_and_a_few_words(reason: str, kind: str, short: str) -> None:
    found = reason_of(reason)
    assert (found.kind, found.short) == (kind, short)
