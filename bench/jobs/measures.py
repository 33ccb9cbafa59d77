"""The four questions, each asked of Corral and of what people use otherwise, in turns on the same machine."""

from __future__ import annotations

import time
from dataclasses import dataclass

from bench.jobs.bed import PERSON, PYTHON, TOOLS, LoginBed, Samples, Timed
from bench.tools import Command, Corral, output

_EMPTY = 'until [ -z "$(squeue -h)" ]; do sleep 0.1; done'


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of everything."""

    trials: int = 1000
    jobs: int = 10_000
    short: int = 60
    rounds: int = 5
    slow_rounds: int = 3
    """Of what takes seconds each."""


def submitting(bed: LoginBed, sizes: Sizes) -> Samples:
    """Many trials sent at once. The partition is down, so that none of them starts."""
    count, last = sizes.trials, sizes.trials - 1
    clear = f"scancel -u {PERSON}; {_EMPTY}"
    loop = f"for n in $(seq 0 {last}); do sbatch -Q -o /dev/null --wrap 'true --n '$n || exit; done"
    bed.root("scontrol update partition=main state=DOWN")
    try:
        taken, said = bed.timed(
            [
                Timed("corral sweep", f"corral sweep --gpus 0 --grid n=0..{last} true", sizes.rounds, clear),
                Timed("loop of sbatch", loop, sizes.slow_rounds, clear),
                Timed("corral map", f"{PYTHON} {TOOLS}/corral_map.py {count}", sizes.rounds, clear),
                Timed("submitit map", f"{PYTHON} {TOOLS}/submitit_map.py {count}", sizes.rounds, clear),
            ]
        )
    finally:
        bed.root("scontrol update partition=main state=UP")
    calls = {f"{name}, the call": [float(text) for text in said[name]] for name in ("corral map", "submitit map")}
    return taken | calls


def listing(bed: LoginBed, sizes: Sizes) -> Samples:
    """A long queue of single jobs, listed; slurmrestd is started anew each time, for it keeps gigabytes."""
    bed.root("scontrol update partition=main state=DOWN")
    fill = f"seq {sizes.jobs} | xargs -P 2 -I= sbatch -Q -o /dev/null --wrap true"
    bed.person(f"cd project && {fill}")
    try:
        quick, _ = bed.timed(
            [
                Timed("corral jobs", "corral jobs", 2 * sizes.rounds),
                Timed("corral jobs --all --each", "corral jobs --all --each", 2 * sizes.rounds),
                Timed("corral jobs --json", "corral jobs --json", 2 * sizes.rounds),
                Timed("squeue", "squeue -r", 2 * sizes.rounds),
            ]
        )
        slow, _ = bed.timed([Timed("squeue --json", "squeue --json", sizes.slow_rounds)])
        return quick | slow | {"slurmrestd GET /jobs": _rest(bed, sizes)}
    finally:
        bed.person(f"scancel -u {PERSON}")
        bed.root("scontrol update partition=main state=UP")


def _rest(bed: LoginBed, sizes: Sizes) -> list[float]:
    found: list[float] = []
    # One round is enough of what takes a minute.
    while len(found) < sizes.slow_rounds and max(found, default=0) < 60:
        taken, _ = bed.timed([Timed("slurmrestd GET /jobs", f"{PYTHON} {TOOLS}/rest_jobs.py", 1)])
        found += taken["slurmrestd GET /jobs"]
        bed.root("systemctl restart slurmrestd")
    return found


def running(bed: LoginBed, sizes: Sizes) -> Samples:
    """One command as a job, to its end and with its output: from the login machine, and from outside over SSH."""
    rounds = 2 * sizes.rounds
    taken, _ = bed.timed(
        [
            Timed("corral run", "corral run --gpus 0 true", rounds),
            Timed("srun", "srun true", rounds),
            Timed("corral run --detach", "corral run --gpus 0 --detach true", rounds, _EMPTY),
        ]
    )
    there = ["-c", bed.spec.name, "--user", PERSON, "--gpus", "0", "--no-folder", "true"]
    outside = {
        "corral run over SSH": [*Corral.command("run"), *there],
        "srun over SSH": bed.as_person("srun true"),
    }
    found: Samples = {name: [] for name in outside}
    for _ in range(rounds):
        for name, argv in outside.items():
            began = time.perf_counter()
            output(Command(argv))
            found[name].append(time.perf_counter() - began)
    return taken | found


def throughput(bed: LoginBed, sizes: Sizes, *, rounds: int) -> Samples:
    """Short experiments, from the first keystroke to the end of the last one."""
    last = sizes.short - 1
    taken, _ = bed.timed(
        [
            Timed("corral sweep", f"corral sweep --gpus 0 --grid n=0..{last} true; {_EMPTY}", rounds),
            Timed("plain array", f"sbatch -Q --array=0-{last} -o /dev/null --wrap true; {_EMPTY}", rounds),
        ]
    )
    return taken
