#!/bin/bash
#SBATCH --job-name=nvidia-smi
#SBATCH --chdir=/shared/jobs/ada/260101-120000-abcd
#SBATCH --output=/shared/jobs/ada/260101-120000-abcd/log
#SBATCH --open-mode=append
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=4
#SBATCH --mem=16000M
#SBATCH --gres=gpu:1
#SBATCH --signal=USR1@120
#SBATCH --requeue

job=/shared/jobs/ada/260101-120000-abcd
unit=$job
if [ "${CORRAL_ATTEMPT:-1}" != "$(cat "$unit/attempt" 2>/dev/null || echo 1)" ]; then
  echo "corral: this job was sent again after the controller lost it, so this copy ends"; exit 0
fi
if [ -e "$unit/ended" ]; then exit "$(cat "$unit/ended")"; fi
rm -f "$unit/again"

if [ ! -d "$unit/work" ]; then
  rm -rf "$unit/.work" && mkdir "$unit/.work" && mv -T "$unit/.work" "$unit/work" || exit 1
fi
cd "$unit/work" || exit 1

export CORRAL_JOB=260101-120000-abcd CORRAL_JOB_DIR="$unit"
export PYTHONPATH="/opt/corral/lib${PYTHONPATH:+:$PYTHONPATH}" PYTHONUNBUFFERED=1

rm -f "$unit/started"
for try in {1..300}; do
  srun --kill-on-bad-exit=1 --cpus-per-task=4 env --block-signal=USR1 bash -c ': > "$0"; exec "$@"' "$unit/started" \
    nvidia-smi -L
  code=$?
  if [ $code -eq 0 ] || [ -e "$unit/started" ]; then break; fi
  if [ $try -ge 5 ] && scontrol ping | grep -q UP; then break; fi
  echo "corral: the step could not be started; trying again" >&2; sleep 2
done
[ ! -e "$unit/again" ] || code=85
# 85 asks to be run again; whoever was killed or never started has not ended by itself: Slurm decides.
if [ -e "$unit/started" ] && [ $code -lt 128 ] && [ $code -ne 85 ]; then
  echo $code > "$unit/.ended" && mv -f "$unit/.ended" "$unit/ended"
fi
exit $code
