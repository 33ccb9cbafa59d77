"""How a job ran, as accounting tells it."""

from __future__ import annotations

from corral.slurm.accounting import parse_runs


def listing(*rows: str) -> str:
    return "\n".join(row.replace("|", "\x1f") for row in rows) + "\n"


TIMES = "1794741060|1794741067|1794741087"


def test_a_requeued_job_has_a_run_for_each_time_with_its_own_steps() -> None:
    said = listing(
        f"7|alice|main|normal|NODE_FAIL|0:0|{TIMES}|00:30:00|cpu=1,mem=64M,node=1||node0|oom | ours",
        f"7.batch||||CANCELLED|0:15|{TIMES}|||4504K|node0|batch",
        f"7|alice|main|normal|FAILED|1:0|{TIMES}|UNLIMITED|cpu=1,mem=64M,node=1||node1|oom",
        f"7.batch||||FAILED|1:0|{TIMES}|||4504K|node0|batch",
        f"7.0||||OUT_OF_MEMORY|0:125|{TIMES}|||60580K|node0|bash",
        f"70|alice|main|normal|COMPLETED|0:0|{TIMES}|UNLIMITED|cpu=1||node1|other",
    )
    first, last = parse_runs(said, "7")
    assert (first.state, first.time_limit_s, first.name) == ("NODE_FAIL", 1800, "oom \x1f ours")
    assert (last.state, last.exit_code, last.nodes, last.time_limit_s) == ("FAILED", 1, "node1", None)
    assert [(step.state, step.signal, step.peak_mib) for step in last.steps] == [
        ("FAILED", 0, 4),
        ("OUT_OF_MEMORY", 125, 59),
    ]


def test_who_cancelled_a_job_that_never_started_is_known_by_number() -> None:
    said = listing(
        "5_2|bob|main|normal|CANCELLED by 25735|0:0|1794741060|None|1794741064|Partition_Limit|cpu=2||None assigned|x"
    )
    (run,) = parse_runs(said, "5_2")
    assert (run.state, run.cancelled_by, run.started, run.nodes) == ("CANCELLED", "25735", 0, "")


def test_nothing_known_is_no_run() -> None:
    assert parse_runs("", "7") == []
