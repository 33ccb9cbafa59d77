"""The Python API: `import corral; cluster = corral.connect()`."""

from corral.api.cluster import Cluster, connect
from corral.api.failures import JobFailed, RemoteTraceback
from corral.api.job import Job
from corral.api.sweep import Sweep

__all__ = ["connect", "Cluster", "Job", "Sweep", "JobFailed", "RemoteTraceback"]
