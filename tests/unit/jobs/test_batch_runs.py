"""What the batch script does around a command: the fence, the working folder, the record of how it ended."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from tests.unit.jobs.batch_job import HOSTILE, SHOW, SRUN, Job
from tests.unit.jobs.bench import program


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


@pytest.mark.parametrize("code", [0, 3, 84, 127])
def test_a_command_that_ends_by_itself_leaves_its_exit_code(job: Job, code: int) -> None:
    assert job.run("bash", "-c", f"exit {code}") == (code, "")
    assert job.ended() == str(code)


@pytest.mark.parametrize(("end", "code"), [("exit 85", 85), ("kill -9 $$", 137), ("kill -TERM $$", 143)])
def test_one_that_wants_to_go_on_or_was_killed_leaves_none(job: Job, end: str, code: int) -> None:
    assert job.run("bash", "-c", end)[0] == code
    assert job.ended() is None


def test_the_mark_again_asks_to_be_requeued_whatever_the_exit_code_and_counts_once(job: Job) -> None:
    assert job.run("bash", "-c", 'touch "$CORRAL_JOB_DIR/again"; exit 1')[0] == 85
    assert job.ended() is None
    assert job.run("true", SLURM_RESTART_COUNT="1")[0] == 0
    assert job.ended() == "0"


def test_a_copy_that_was_replaced_ends_well_without_running(job: Job) -> None:
    (job.folder / "attempt").write_text("2\n")
    code, said = job.run("echo", "I ran")
    assert code == 0
    assert "I ran" not in said
    assert "this copy ends" in said
    assert job.ended() is None
    assert job.run("echo", "I ran", CORRAL_ATTEMPT="2") == (0, "I ran\n")


def test_a_job_that_ended_does_not_run_again_because_the_controller_forgot_it(job: Job) -> None:
    (job.folder / "ended").write_text("3\n")
    assert job.run("echo", "I ran") == (3, "")
    assert job.ended() == "3"


def test_a_job_that_ended_does_not_run_again_because_slurm_requeued_it_once_too_often(job: Job) -> None:
    (job.folder / "ended").write_text("3\n")
    assert job.run("echo", "I ran", SLURM_RESTART_COUNT="2") == (3, "")


def test_a_job_runs_again_once_the_record_of_its_end_is_removed(job: Job) -> None:
    job.run("bash", "-c", "exit 3")
    (job.folder / "ended").unlink()
    assert job.run("bash", "-c", "exit 4", SLURM_RESTART_COUNT="1")[0] == 4
    assert job.ended() == "4"


def test_a_warning_before_the_command_listens_waits_for_it(job: Job) -> None:
    listen = "import os, signal as s; os.kill(os.getpid(), s.SIGUSR1); print(s.sigtimedwait({s.SIGUSR1}, 5).si_signo)"
    assert job.run("python3", "-c", listen) == (0, f"{signal.SIGUSR1.value}\n")


def test_a_command_that_could_not_be_started_is_tried_again_until_the_controller_is_back(job: Job) -> None:
    away = 'if [ ! -e "$CORRAL_JOB_DIR/back" ]; then touch "$CORRAL_JOB_DIR/back"; exit 1; fi\n'
    program(job.root / "bin", "srun", away + SRUN)
    code, said = job.run("echo", "I ran")
    assert code == 0
    assert said.endswith("I ran\n")
    assert job.ended() == "0"


def test_a_command_that_never_started_has_not_ended(job: Job) -> None:
    program(job.root / "bin", "srun", "exit 1\n")
    program(job.root / "bin", "sleep", "exit 0\n")
    program(job.root / "bin", "scontrol", "echo Slurmctld is UP\n")
    assert job.run("echo", "I ran")[0] == 1
    assert job.ended() is None


def test_the_command_runs_in_a_copy_of_the_snapshot(job: Job) -> None:
    assert job.run("bash", "-c", "pwd; cat train.py; echo changed > train.py; touch new") == (
        0,
        f"{job.folder}/work\nprint('hi')\n",
    )
    assert (job.code / "train.py").read_text() == "print('hi')\n"
    assert not (job.code / "new").exists()


def test_a_requeued_job_goes_on_in_the_same_folder(job: Job) -> None:
    job.run("bash", "-c", "echo state > saved; exit 85")
    assert job.run("cat", "saved", SLURM_RESTART_COUNT="1") == (0, "state\n")


def test_a_copy_that_was_cut_off_halfway_is_made_anew(job: Job) -> None:
    (job.folder / ".work").mkdir()
    (job.folder / ".work" / "half").touch()
    assert job.run("ls") == (0, "sub\ntrain.py\n")


def test_without_a_snapshot_a_job_starts_in_an_empty_folder(job: Job) -> None:
    assert job.run("bash", "-c", "pwd; ls -A", code=None) == (0, f"{job.folder}/work\n")


def test_a_snapshot_that_is_gone_fails_the_job_before_its_command(job: Job) -> None:
    code, said = job.run("echo", "I ran", code="gone")
    assert code == 1
    assert "No such file or directory" in said
    assert "I ran" not in said
    assert job.ended() is None


def test_every_word_of_the_command_arrives_as_it_was_written(job: Job) -> None:
    words = (*HOSTILE, "two\nlines\n", "-n", "--help")
    code, said = job.run(*SHOW, *words)
    assert code == 0
    assert said.split("\0")[:-1] == list(words)


def test_slurms_warning_does_not_kill_a_command_that_does_not_expect_it(job: Job) -> None:
    assert job.run("bash", "-c", "kill -USR1 $$; echo goes on") == (0, "goes on\n")


def test_variables_and_corrals_own_library_are_there(job: Job) -> None:
    job.variables["MINE"] = "$HOME it's"
    said = job.run("bash", "-c", 'echo "$MINE|$PYTHONPATH|$PYTHONUNBUFFERED"', PYTHONPATH="/theirs")
    assert said == (0, "$HOME it's|/opt/corral/lib:/theirs|1\n")
