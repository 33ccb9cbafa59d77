"""How fast jobs are sent, listed, run and finished: `python -m bench.jobs`, as root.

On one local cluster of three machines, as a person on its login machine: against a loop of sbatch, submitit, squeue,
slurmrestd, srun, plain job arrays, and Slurm's own scheduler settings. All are wall times of real processes.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib.metadata import distributions
from pathlib import Path

from bench.jobs.bed import LoginBed
from bench.jobs.measures import Sizes, listing, running, submitting, throughput
from bench.jobs.report import Measured, report
from bench.results import provenance, write_section
from bench.tools import Corral, environment

_STATE = Path("/var/tmp/corral-bench/state")
_QUICK = Sizes(trials=20, jobs=30, short=6, rounds=1, slow_rounds=1)
# Slurm's defaults written out: the cluster file takes no empty value.
_UNTUNED = {
    "SchedulerParameters": "batch_sched_delay=3,sched_interval=60,sched_min_interval=2,"
    "bf_interval=30,bf_max_job_test=500,default_queue_depth=100"
}


def main() -> None:
    """Measure and print; a quick run is not written down."""
    given = _options()
    sizes = _QUICK if given.quick else Sizes()
    os.environ.setdefault("CORRAL_STATE", str(_STATE))
    load = os.getloadavg()[0]
    bed = LoginBed("bench-jobs", given.release)
    try:
        measured = _measure(bed, sizes)
        slurm = bed.root("srun --version").split()[-1]
    finally:
        bed.remove()
    versions = [f"Corral {Corral().version()}", f"submitit {_submitit()}", f"Slurm {slurm} ({given.release})"]
    body = f"{provenance('bench.jobs', versions, load)}\n{report(sizes, measured)}"
    print(f"\n{body}")
    if given.quick:
        print("\nNot written down: a quick run measures nothing.")
    else:
        write_section("Jobs", body)


def _measure(bed: LoginBed, sizes: Sizes) -> Measured:
    # What leaves many jobs in the controller's memory comes after what lists them.
    _say("short experiments, Slurm's own scheduler settings")
    bed.remove()
    bed.up(_UNTUNED)
    bed.furnish()
    untuned = throughput(bed, sizes, rounds=sizes.slow_rounds)
    bed.up()
    _say("short experiments, Corral's settings")
    tuned = throughput(bed, sizes, rounds=sizes.slow_rounds)
    _say("one command as a job")
    single = running(bed, sizes)
    _say(f"{sizes.jobs} jobs listed")
    listed = listing(bed, sizes)
    _say(f"{sizes.trials} trials sent")
    return Measured(submitting(bed, sizes), listed, single, tuned, untuned)


def _say(text: str) -> None:
    print(text, flush=True)


def _submitit() -> str:
    packages = [str(path) for path in (environment() / "lib").glob("python*/site-packages")]
    return next(found.version for found in distributions(path=packages) if found.name == "submitit")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.jobs", description="Jobs' speed, Corral and others.")
    parser.add_argument("--release", default="trixie", help="the machines' Debian release")
    parser.add_argument("--quick", action="store_true", help="a smoke run: few of everything, once, nothing written")
    if os.geteuid() != 0:
        sys.exit("making machines needs root: run the command again with sudo")
    return parser.parse_args()


if __name__ == "__main__":
    main()
