"""Record what a real cluster tells of a job: `CORRAL_USER=alice python -m tests.recorded.record_why CLUSTER JOB NAME`.

Writes why/NAME.txt beside this file, for tests/unit/jobs/why: the job's label, the states of its array's tasks, and
what the cluster printed.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from corral.jobs.find import find
from corral.jobs.why.facts import question
from corral.workflows.desk import open_desk

FOLDER = Path(__file__).parent / "why"


async def record(cluster: str, job: str, name: str) -> None:
    async with open_desk(cluster) as desk:
        label, tasks, script = question(await find(desk, job))
        said = await desk.must(script)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.txt").write_text(f"{label} {json.dumps(tasks)}\n{said}", newline="")


if __name__ == "__main__":
    asyncio.run(record(*sys.argv[1:4]))
