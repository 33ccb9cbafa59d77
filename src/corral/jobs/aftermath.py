"""What a killed controller leaves behind in Slurm itself, and how it is put right.

A controller that comes back gives the numbers of jobs that it forgot to new ones. A slurmd that remembers the old
job refuses the new one; the controller then drains the node ("Duplicate jobid") and holds the job, for a person
to look at. There is nothing to see: the refusal itself made slurmd forget the old one.

A job that ended in the controller's last seconds runs for ever, as far as it remembers, and keeps its nodes until Slurm
asks these what they run, minutes later. The job's own record tells that it has ended: requeued, it ends again at once.
"""

from __future__ import annotations

import shlex

from corral.hosts.base import Host

# Only for a while after the controller started: later on, the same words would mean something else.
_MEND = """
age=$(ps -o etimes= -C slurmctld | sort -n | head -n 1)
[ "${age:-9999}" -lt 600 ] || exit 0
nodes=$(sinfo -h -N -o '%N|%u|%E' | sed -n 's/|slurm|Duplicate jobid$//p' | sort -u | paste -sd,)
if [ -n "$nodes" ]; then
  scontrol update nodename=$nodes state=resume && echo "$nodes back in service after Duplicate jobid"
fi
jobs=$(squeue -h -r -t PD -o '%i|%r' | sed -n 's/|launch failed requeued held$//p' | paste -sd,)
[ -z "$jobs" ] || { scontrol release $jobs && echo "released $jobs"; }
old=$(($(date +%s) - 30))
over=$(SLURM_TIME_FORMAT=%s squeue -h -r -t R -o '%i|%S|%Z' | while IFS='|' read -r job began folder; do
  case $folder in "$jobs_folder"/*) ;; *) continue;; esac
  case $job in *_*) folder=$folder/trials/${job#*_};; esac
  [ -e "$folder/ended" ] && [ "$began" -lt $old ] && [ "$(stat -c %Y "$folder/ended")" -lt $old ] && echo "$job"
done | paste -sd,)
[ -z "$over" ] || { scontrol requeue $over && echo "requeued $over, which had ended"; }
"""


async def mend(head: Host, jobs_folder: str) -> list[str]:
    """Put right what a controller that has just come back left behind; what was done."""
    return (await head.run(f"jobs_folder={shlex.quote(jobs_folder)}\n{_MEND}")).stdout.splitlines()
