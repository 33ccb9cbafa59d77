"""Slurm 26.05. Its differences from v0.0.42 are these.

- nothing that Corral sends;
- `standard_output` is the pattern as it was given; `stdout_expanded` has it replaced.
"""

from __future__ import annotations

from dataclasses import replace

from corral.slurm.rest import v0_0_42
from corral.slurm.rest.details import JobDetails
from corral.slurm.rest.v0_0_42 import TOKEN_SUSPECTS as TOKEN_SUSPECTS
from corral.slurm.rest.v0_0_42 import submission as submission
from corral.slurm.rest.wire import Record, text

API = "v0.0.45"


def details(record: Record) -> JobDetails:
    found = v0_0_42.details(record)
    return replace(found, output=text(record, "stdout_expanded") or found.output)
