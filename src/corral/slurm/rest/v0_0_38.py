"""Slurm 22.05 to 23.11. Its differences from v0.0.42 are these.

- numbers are plain; Slurm's own NO_VAL and INFINITE (2^32-2, 2^32-1) mean "not set" and "no limit";
- `environment` is an object, and the script stands beside the job;
- `nodes` is a number or a text: a list of two is taken and then ignored;
- GPUs are `gres: "gpu:1"`; the warning signal is one text, as sbatch's --signal; `open_mode` is one word;
- `requeue` means yes whatever its value; no is `no_requeue`, which its schema does not mention;
- an unknown field is an error (400), not a warning;
- `job_state` is one text, without flags such as COMPLETING; a reason that is none is "None";
- `exit_code` is a raw wait status; `array_job_id` is 0 and `array_task_id` null for a plain job;
- errors come as 500 and may have an `error_code` in place of an `error_number`; cancelling reports them in `errors`;
- a job that is taken but cannot start at once comes with an error beside its id;
- an update of an array that worked says "job array update … failed", without a number;
- a bad token is answered as if the controller were away: 500 and one of `TOKEN_SUSPECTS`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from corral.slurm.description import JobDescription
from corral.slurm.rest.details import JobDetails
from corral.slurm.rest.wire import Record, integer, text

API = "v0.0.38"
# Unspecified error (GET), unexpected message (update), zero bytes received (submit and cancel).
TOKEN_SUSPECTS = frozenset((-1, 1000, 5005))


def submission(description: JobDescription) -> Record:
    job: Mapping[str, object] = {
        "name": description.name,
        "current_working_directory": description.folder,
        "standard_input": "/dev/null",
        "standard_output": description.output,
        "open_mode": "append",
        "nodes": str(description.nodes),
        "tasks": description.nodes * description.tasks_per_node,
        "tasks_per_node": description.tasks_per_node,
        "cpus_per_task": description.cpus_per_task,
        "memory_per_node": description.memory_mib,
        "gres": description.gres,
        "time_limit": description.time_limit_min,
        "partition": description.partition,
        "qos": description.qos,
        "account": description.account,
        "array": description.array,
        "dependency": description.dependency,
        "requeue" if description.requeue else "no_requeue": True,
        "signal": "" if description.warn_s is None else f"USR1@{description.warn_s}",
        "hold": description.hold or None,
        "comment": description.comment,
        "environment": dict(description.environment),
    }
    return {"script": description.script, "job": {key: value for key, value in job.items() if value not in ("", None)}}


def details(record: Record) -> JobDetails:
    status = integer(record, "exit_code") or 0
    reason = text(record, "state_reason")
    return JobDetails(
        id=integer(record, "job_id") or 0,
        array_id=integer(record, "array_job_id") or 0,
        array_task=integer(record, "array_task_id"),
        array_tasks=text(record, "array_task_string"),
        name=text(record, "name"),
        user=text(record, "user_name"),
        state=text(record, "job_state"),
        flags=frozenset(),
        reason="" if reason == "None" else reason,
        partition=text(record, "partition"),
        qos=text(record, "qos"),
        priority=integer(record, "priority") or 0,
        submitted=integer(record, "submit_time") or 0,
        eligible=integer(record, "eligible_time") or 0,
        started=integer(record, "start_time") or 0,
        ended=integer(record, "end_time") or 0,
        time_limit_min=integer(record, "time_limit"),
        node_count=integer(record, "node_count") or 0,
        nodes=text(record, "nodes"),
        exit_code=os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0,
        signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
        folder=text(record, "current_working_directory"),
        output=text(record, "standard_output"),
        dependency=text(record, "dependency"),
        tres=text(record, "tres_req_str"),
        restarts=integer(record, "restart_cnt") or 0,
        comment=text(record, "comment"),
    )
