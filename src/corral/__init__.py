"""Corral: loose GPU machines become one Slurm research cluster.

import corral

cluster = corral.connect()
job = cluster.submit(train, 1e-3, gpus=1)
print(job.result())
"""

from importlib import import_module

__version__ = "0.1.0"

# Loaded when somebody asks for them: jobs import `corral.checkpoint` and nothing of this. Types: __init__.pyi.
_API = ("connect", "Cluster", "Job", "Sweep", "JobFailed", "RemoteTraceback")


def __getattr__(name: str) -> object:
    if name in _API:
        return getattr(import_module("corral.api"), name)
    raise AttributeError(f"module 'corral' has no attribute '{name}'")
