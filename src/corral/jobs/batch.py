"""The batch script: what Slurm is sent, as plain text that anybody can read and run.

Everything that a job does around the person's command is in it: the fence against running twice, the
working folder, the environment, the launch, and the record of how it ended.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from corral.jobs import environments
from corral.jobs.layout import TRIAL_COMMANDS, Home, JobFolder
from corral.jobs.request import JobRequest

LIBRARY = "/opt/corral/lib"
REQUEUE_CODE = 85
"""A command that saved its state and wants to go on exits with it; RequeueExit in slurm.conf has the same."""

# A job that has ended runs again only when somebody says so (`corral requeue` removes the record): a controller that
# was killed may have forgotten that it ran, and Slurm requeues some jobs that were preempted once too often.
_FENCE = """\
if [ "${CORRAL_ATTEMPT:-1}" != "$(cat "$unit/attempt" 2>/dev/null || echo 1)" ]; then
  echo "corral: this job was sent again after the controller lost it, so this copy ends"; exit 0
fi
if [ -e "$unit/ended" ]; then exit "$(cat "$unit/ended")"; fi
rm -f "$unit/again\""""

# Beside and renamed: a requeued job finds either nothing or the whole folder, and goes on in it.
_WORK = """\
if [ ! -d "$unit/work" ]; then
  rm -rf "$unit/.work" && {copy} && mv -T "$unit/.work" "$unit/work" || exit 1
fi
cd "$unit/work" || exit 1"""

# Ports of different jobs differ by their ids, and one that answers already is somebody else's.
_RENDEZVOUS = """\
export MASTER_ADDR=$(getent hosts "$SLURMD_NODENAME" | awk '{ print $1; exit }')
MASTER_PORT=$((20000 + SLURM_JOB_ID % 1000 * 10))
while (exec 3<> "/dev/tcp/$MASTER_ADDR/$MASTER_PORT") 2>/dev/null; do MASTER_PORT=$((MASTER_PORT + 1)); done
export MASTER_PORT
mkdir -p "$unit/ranks" && rm -f "$unit"/ranks/*.exit"""

# Without the controller no step can start. A command that never started is tried again while the controller is away,
# and a few times more: it may be back before anybody looks.
_STARTS = """\
rm -f "$unit/started"
for try in {{1..300}}; do
  {launch}
  code=$?
  if [ $code -eq 0 ] || [ -e "$unit/started" ]; then break; fi
  if [ $try -ge 5 ] && scontrol ping | grep -q UP; then break; fi
  echo "corral: the step could not be started; trying again" >&2; sleep 2
done"""

# To the other nodes a dead one looks like a failure of their own; Slurm notices it later, and requeues the job.
_NODES = f"""\
if [ $code -ne 0 ] && [ $code -ne {REQUEUE_CODE} ]; then
  timeout 30 srun --overlap --ntasks-per-node=1 true >/dev/null 2>&1 || sleep 180
fi"""

_END = f"""\
# {REQUEUE_CODE} asks to be run again; whoever was killed or never started has not ended by itself: Slurm decides.
if [ -e "$unit/started" ] && [ $code -lt 128 ] && [ $code -ne {REQUEUE_CODE} ]; then
  echo $code > "$unit/.ended" && mv -f "$unit/.ended" "$unit/ended"
fi
exit $code"""


@dataclass(frozen=True, slots=True)
class Batch:
    """Everything that decides the text of a batch script."""

    request: JobRequest
    home: Home
    folder: JobFolder
    directives: Sequence[str]
    code: str | None
    """The snapshot's digest; None runs in an empty folder."""
    sweep: bool = False
    """An array whose tasks take their commands from the lines of a file."""

    def render(self) -> str:
        """The whole text."""
        parts = [
            "#!/bin/bash",
            *self.directives,
            "",
            *self._unit(),
            _FENCE,
            "",
            _WORK.format(copy=self._copy()),
            "",
            *self._surroundings(),
            *environments.enter(self.request.environment),
            *([_RENDEZVOUS] if self.request.ddp else []),
            "",
            _STARTS.format(launch=self._launch()),
            f'[ ! -e "$unit/again" ] || code={REQUEUE_CODE}',
            *([_NODES] if self.request.resources.nodes > 1 else []),
            _END,
            "",
        ]
        return "\n".join(parts)

    def _unit(self) -> list[str]:
        job = f"job={shlex.quote(self.folder.path)}"
        if not self.sweep:
            return [job, "unit=$job"]
        return [
            job,
            "unit=$job/trials/$SLURM_ARRAY_TASK_ID",
            'mkdir -p "$unit" || exit 1',
            f'eval "set -- $(sed -n "$((SLURM_ARRAY_TASK_ID + 1))p" "$job/{TRIAL_COMMANDS}")"',
            'export CORRAL_TRIAL=$SLURM_ARRAY_TASK_ID CORRAL_PARAMS="$1"; shift',
        ]

    def _copy(self) -> str:
        if self.code is None:
            return 'mkdir "$unit/.work"'
        return f'cp -a {shlex.quote(self.home.code(self.code))} "$unit/.work"'

    def _surroundings(self) -> list[str]:
        lines = [
            f'export CORRAL_JOB={self.folder.token} CORRAL_JOB_DIR="$unit"',
            f'export PYTHONPATH="{LIBRARY}${{PYTHONPATH:+:$PYTHONPATH}}" PYTHONUNBUFFERED=1',
        ]
        return lines + [f"export {name}={shlex.quote(value)}" for name, value in self.request.variables.items()]

    def _launch(self) -> str:
        """The command as a step of its own, so that Slurm's signals reach it."""
        request = self.request
        command = '"$@"' if self.sweep else shlex.join(request.command)
        if request.ddp:
            command = f"{environments.python(request.environment)} -m corral.inside.torchrun {command}"
        # A step has one CPU unless it says otherwise, and Slurm's variable for it is sbatch's work, not slurmrestd's.
        options = f"--kill-on-bad-exit=1 --cpus-per-task={request.resources.cpus or 1}"
        if request.environment.kind == "container":
            options += ' "${in_srun[@]}"'
            command = f'"${{in_node[@]}}" {command}'
        # Slurm warns with SIGUSR1. Blocked, it kills nobody, and waits for a script that is still being loaded.
        started = """bash -c ': > "$0"; exec "$@"' "$unit/started\""""
        return f"srun {options} env --block-signal=USR1 {started} \\\n    {command}"
