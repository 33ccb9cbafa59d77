"""Sending again: the same folder, the same script, and a new attempt that shuts every older one out."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace

from corral.jobs.desk import Desk
from corral.jobs.layout import JobFolder
from corral.jobs.submit import note_submitted, submitted_line
from corral.jobs.sweep.indices import compress
from corral.slurm.description import JobDescription

_PART = "\x1e"

# The attempt is written before Slurm is told: a copy of the old one that turns up late finds itself shut out.
# It is somebody's alone, because two jobs of the same attempt would both run: the keeper and a person may come at once.
_SHUT_OUT = """
cd {folder} || exit 1
if ! mkdir .sending 2>/dev/null; then
  # Whoever made it is done in a moment, or dead.
  find .sending -maxdepth 0 -mmin +1 -exec rmdir {{}} + 2>/dev/null
  echo "{folder} is being sent again already" >&2; exit 1
fi
trap 'rmdir .sending' EXIT
if grep -q '^{attempt} ' submitted; then echo "{folder} was sent again already" >&2; exit 1; fi
for unit in {units}; do
  mkdir -p $unit && {forget} && echo {attempt} > $unit/.attempt && mv -f $unit/.attempt $unit/attempt || exit 1
done
echo {intent} >> submitted
: > {mark}
cat description.json && printf '{part}' && cat batch.sh
"""


async def resend(
    desk: Desk, folder: JobFolder, attempt: int, units: Sequence[int | None], *, anew: bool = False
) -> int:
    """Send units once more under a new attempt; the new job's id. With `anew`, what has ended runs again too."""
    trials = [unit for unit in units if unit is not None]
    array = compress(trials) if trials else ""
    said = await desk.must(
        _SHUT_OUT.format(
            folder=shlex.quote(folder.path),
            units=" ".join(f"trials/{trial}" for trial in trials) or ".",
            attempt=attempt,
            forget="rm -f $unit/ended" if anew else "true",
            intent=submitted_line(attempt, 0, array),
            mark=desk.home.open_mark(folder.token),
            part=_PART,
        )
    )
    data, _, script = said.partition(_PART)
    before = JobDescription.from_json(json.loads(data), script)
    at_most = before.array.partition("%")[2]
    description = replace(
        before,
        array=f"{array}%{at_most}" if at_most and array else array,
        # What it waited for may be long forgotten, and then it would wait for ever.
        dependency="",
        environment={**before.environment, "CORRAL_ATTEMPT": str(attempt)},
    )
    job_id = await (await desk.rest()).submit(description)
    await desk.run(note_submitted(folder, attempt, job_id, array))
    return job_id
