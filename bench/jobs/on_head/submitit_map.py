"""Sends a function once per number with submitit; prints how long the call took."""

import sys
import time

import submitit


def double(number: int) -> int:
    return 2 * number


executor = submitit.AutoExecutor(folder="../submitit-logs", cluster="slurm")
executor.update_parameters(timeout_min=60, cpus_per_task=1, slurm_array_parallelism=int(sys.argv[1]))
began = time.perf_counter()
jobs = executor.map_array(double, range(int(sys.argv[1])))
seconds = time.perf_counter() - began
assert jobs[-1].job_id
print(seconds)
