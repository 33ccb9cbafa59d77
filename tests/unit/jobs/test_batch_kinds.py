"""Batch scripts of sweeps and of jobs in containers, run for real."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.unit.jobs.batch_job import HOSTILE, SHOW, SRUN, Job
from tests.unit.jobs.bench import TOKEN, program

from corral.jobs.layout import TRIAL_COMMANDS
from corral.jobs.request import Environment
from corral.jobs.sweep.command import args_file, arguments, params_json
from corral.jobs.sweep.space import Trial


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


def test_every_line_of_a_sweep_arrives_as_it_was_written_in_a_folder_of_its_own(job: Job) -> None:
    trials = [Trial(index, (("x", value),)) for index, value in enumerate(HOSTILE)]
    (job.folder / TRIAL_COMMANDS).write_text(args_file(SHOW, trials))
    for trial in trials[::4]:
        code, said = job.run(*SHOW, sweep=True, SLURM_ARRAY_TASK_ID=str(trial.index))
        assert (code, said.split("\0")[:-1]) == (0, arguments(SHOW, trial)[len(SHOW) :])
        assert job.ended(f"trials/{trial.index}") == "0"
    assert job.ended() is None


def test_a_trial_knows_its_number_its_parameters_and_its_folder(job: Job) -> None:
    show = ("bash", "-c", 'echo "$CORRAL_TRIAL|$CORRAL_PARAMS|$CORRAL_JOB_DIR|$CORRAL_JOB"; pwd')
    trial = Trial(0, (("x", "it's 1"),))
    (job.folder / TRIAL_COMMANDS).write_text(args_file(show, [trial]))
    unit = f"{job.folder}/trials/0"
    said = job.run(*show, sweep=True, SLURM_ARRAY_TASK_ID="0")
    assert said == (0, f"0|{params_json(trial)}|{unit}|{TOKEN}\n{unit}/work\n")


def container(job: Job, *have: str) -> Sequence[str]:
    job.environment = Environment("container", "docker://torch:1")
    for name in have:
        program(job.root / "bin", name, 'echo "$@" >> "$SRUN_ASKED"; for last; do :; done; echo "in it: $last"')
    asked = job.root / "asked"
    return asked.read_text().splitlines() if asked.exists() else ()


def test_a_container_is_started_by_apptainer_on_each_node(job: Job) -> None:
    container(job, "apptainer")
    assert job.run("hostname") == (0, "in it: hostname\n")
    unit = job.folder
    expected = f"exec --nv --bind {unit},/opt/corral --pwd {unit}/work docker://torch:1 hostname"
    assert container(job)[-1] == expected


def test_a_container_is_left_to_pyxis_where_srun_has_it(job: Job) -> None:
    container(job, "apptainer")
    program(job.root / "bin", "srun", f'[ "$1" != --help ] || {{ echo "--container-image=..."; exit; }}; {SRUN}')
    assert job.run("echo", "in pyxis") == (0, "in pyxis\n")
    assert f"--container-image=torch:1 --container-workdir={job.folder}/work" in container(job)[-1]
