"""Slurm 24.11 to 25.11. Its differences from v0.0.38 are told there; from v0.0.45 it has one.

- a job's `standard_output` has its %-patterns replaced; v0.0.45 has that in a field of its own.

An `oom_kill_step` that is not sent counts as no, where sbatch would leave it to the site.
"""

from __future__ import annotations

from collections.abc import Mapping

from corral.slurm.description import JobDescription
from corral.slurm.rest.details import JobDetails
from corral.slurm.rest.wire import Record, integer, malformed, text

API = "v0.0.42"
TOKEN_SUSPECTS: frozenset[int] = frozenset()


def submission(description: JobDescription) -> Record:
    job: Mapping[str, object] = {
        "script": description.script,
        "name": description.name,
        "current_working_directory": description.folder,
        "standard_input": "/dev/null",
        "standard_output": description.output,
        "open_mode": ["APPEND"],
        "nodes": str(description.nodes),
        "tasks": description.nodes * description.tasks_per_node,
        "tasks_per_node": description.tasks_per_node,
        "cpus_per_task": description.cpus_per_task,
        "tres_per_task": f"cpu={description.cpus_per_task}",
        "memory_per_node": _number(description.memory_mib),
        "tres_per_node": description.gres and f"gres/{description.gres}",
        "time_limit": _number(description.time_limit_min),
        "partition": description.partition,
        "qos": description.qos,
        "account": description.account,
        "array": description.array,
        "dependency": description.dependency,
        "requeue": description.requeue,
        "kill_warning_signal": "" if description.warn_s is None else "USR1",
        "kill_warning_delay": _number(description.warn_s),
        "hold": description.hold or None,
        "comment": description.comment,
        "environment": [f"{name}={value}" for name, value in description.environment.items()],
    }
    return {"job": {key: value for key, value in job.items() if value not in ("", None)}}


def _number(value: int | None) -> Record | None:
    return None if value is None else {"set": True, "number": value}


def details(record: Record) -> JobDetails:
    state, flags = _states(record)
    exit_code, signal = _exit(record)
    reason = text(record, "state_reason")
    return JobDetails(
        id=integer(record, "job_id") or 0,
        array_id=integer(record, "array_job_id") or 0,
        array_task=integer(record, "array_task_id"),
        array_tasks=text(record, "array_task_string"),
        name=text(record, "name"),
        user=text(record, "user_name"),
        state=state,
        flags=flags,
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
        exit_code=exit_code,
        signal=signal,
        folder=text(record, "current_working_directory"),
        output=text(record, "standard_output"),
        dependency=text(record, "dependency"),
        tres=text(record, "tres_req_str"),
        restarts=integer(record, "restart_cnt") or 0,
        comment=text(record, "comment"),
    )


def _states(record: Record) -> tuple[str, frozenset[str]]:
    states = record.get("job_state")
    if not isinstance(states, list) or not states or not all(isinstance(state, str) for state in states):
        raise malformed("job_state", states)
    return states[0], frozenset(states[1:])


def _exit(record: Record) -> tuple[int, int]:
    ended = record.get("exit_code")
    if not isinstance(ended, dict):
        raise malformed("exit_code", ended)
    signal = ended.get("signal")
    return integer(ended, "return_code") or 0, (integer(signal, "id") or 0) if isinstance(signal, dict) else 0
