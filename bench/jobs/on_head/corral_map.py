"""Sends a function once per number with Corral; prints how long the call took."""

import sys
import time

import corral


def double(number: int) -> int:
    return 2 * number


with corral.connect() as cluster:
    began = time.perf_counter()
    jobs = cluster.map(double, range(int(sys.argv[1])), gpus=0, folder=None)
    seconds = time.perf_counter() - began
assert jobs[-1].id
print(seconds)
