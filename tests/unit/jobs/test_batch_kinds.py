"""Batch scripts of sweeps, of jobs in containers and of distributed jobs, run for real."""

from __future__ import annotations

import socket
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


def test_two_distributed_jobs_meet_at_different_ports_and_never_at_a_taken_one(job: Job) -> None:
    job.ddp = True
    program(job.root / "bin", "python3", 'echo "$MASTER_ADDR $MASTER_PORT $*"')

    def port(number: int) -> int:
        (job.folder / "ended").unlink(missing_ok=True)
        code, said = job.run("train.py", SLURMD_NODENAME="127.0.0.1", SLURM_JOB_ID=str(number))
        address, port, rest = said.split(" ", 2)
        assert (code, address, rest) == (0, "127.0.0.1", "-m corral.inside.torchrun train.py\n")
        return int(port)

    first = port(1234)
    assert port(1235) != first
    with socket.create_server(("127.0.0.1", first)):
        assert port(1234) == first + 1


def test_exit_codes_of_an_earlier_run_are_gone_and_logs_stay(job: Job) -> None:
    job.ddp = True
    program(job.root / "bin", "python3", "true")
    (job.folder / "ranks").mkdir()
    for name in ("0.exit", "0.log"):
        (job.folder / "ranks" / name).touch()
    job.run("train.py", SLURMD_NODENAME="127.0.0.1", SLURM_JOB_ID="7")
    assert [path.name for path in (job.folder / "ranks").iterdir()] == ["0.log"]
