"""One rank's shim, with real commands."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.unit.inside.scripts import SOURCES


def start(job: Path, *command: str, rank: int = 0, ignoring: bool = False) -> subprocess.Popen[str]:
    shim = [sys.executable, "-m", "corral.inside.rank", *command]
    if ignoring:  # as torchrun's children inherit it
        shim = ["sh", "-c", 'trap "" USR1; exec "$@"', "sh", *shim]
    return subprocess.Popen(
        shim,
        env=os.environ | {"PYTHONPATH": str(SOURCES), "CORRAL_JOB_DIR": str(job), "RANK": str(rank)},
        stdout=subprocess.PIPE,
        text=True,
    )


def run(job: Path, *command: str) -> tuple[int, str]:
    process = start(job, *command)
    output, _ = process.communicate(timeout=60)
    return process.returncode, output


def log(job: Path, rank: int = 0) -> str:
    """What the rank said, without the line about its start."""
    first, _, rest = (job / f"ranks/{rank}.log").read_text().partition("\n")
    assert first.startswith(f"corral: rank {rank} started on ")
    return rest


def test_output_goes_to_the_ranks_log_as_it_is_and_to_the_jobs_log_with_the_rank(tmp_path: Path) -> None:
    code, output = run(tmp_path, "sh", "-c", "echo one; echo two >&2; printf three; exit 3")
    assert (code, output) == (3, "[0] one\n[0] two\n[0] three\n")
    assert log(tmp_path) == "one\ntwo\nthree"


def test_a_progress_bar_becomes_its_last_state(tmp_path: Path) -> None:
    _, output = run(tmp_path, "printf", "%s", "10%\r50%\r100%\ndone\r\n")
    assert output == "[0] 100%\n[0] done\n"


def test_how_it_ended_is_left_behind_and_when(tmp_path: Path) -> None:
    before = time.time()
    assert run(tmp_path, "false")[0] == 1
    code, at = (tmp_path / "ranks/0.exit").read_text().split()
    assert code == "1"
    assert before <= float(at) <= time.time()
    assert run(tmp_path, "sh", "-c", "kill -9 $$")[0] == 137
    assert (tmp_path / "ranks/0.exit").read_text().startswith("137 ")


def test_a_rank_that_asks_to_run_again_is_no_failure_to_the_launcher(tmp_path: Path) -> None:
    assert run(tmp_path, "sh", "-c", "exit 85")[0] == 0
    assert (tmp_path / "ranks/0.exit").read_text().startswith("85 ")


def test_a_command_that_does_not_exist_is_named(tmp_path: Path) -> None:
    code, output = run(tmp_path, "no-such-command")
    assert (code, output) == (127, "[0] corral: cannot start no-such-command: No such file or directory\n")


def test_what_a_command_leaves_running_holds_nothing_up(tmp_path: Path) -> None:
    code, output = run(tmp_path, "sh", "-c", "tail -f /dev/null & echo $!")
    left = int(output.removeprefix("[0] "))
    os.kill(left, signal.SIGKILL)  # it was there still
    assert code == 0


def test_what_a_command_leaves_running_and_talking_holds_nothing_up(tmp_path: Path) -> None:
    code, output = run(tmp_path, "sh", "-c", f"yes & until grep -qx y {tmp_path}/ranks/0.log; do :; done")
    assert code == 0
    assert output.startswith("[0] y\n")


def test_lines_of_several_ranks_stay_whole_and_none_is_lost(tmp_path: Path) -> None:
    read, write = os.pipe()
    talk = "import sys\nfor n in range(20000): print('rank', sys.argv[1], 'line', n, 'x' * (n % 1000))"
    shims = [
        subprocess.Popen(
            [sys.executable, "-m", "corral.inside.rank", sys.executable, "-c", talk, str(rank)],
            env=os.environ | {"PYTHONPATH": str(SOURCES), "CORRAL_JOB_DIR": str(tmp_path), "RANK": str(rank)},
            stdout=write,
        )
        for rank in range(3)
    ]
    os.close(write)
    with os.fdopen(read) as output:
        lines = output.read().splitlines()
    assert [shim.wait(60) for shim in shims] == [0, 0, 0]
    for rank in range(3):
        expected = [f"rank {rank} line {n} {'x' * (n % 1000)}" for n in range(20000)]
        assert [line[4:] for line in lines if line.startswith(f"[{rank}] ")] == expected
        assert log(tmp_path, rank).splitlines() == expected
    assert len(lines) == 60000


# Says which signal came; SIGUSR1 waits until it is asked for, as with every command in a job.
LISTENING = """
import signal, sys
print("waits" if signal.SIGUSR1 in signal.pthread_sigmask(signal.SIG_BLOCK, ()) else "deadly", flush=True)
def note(number, frame):
    print(signal.Signals(number).name, flush=True)
    sys.exit(7)
signal.signal(signal.SIGTERM, note)
signal.signal(signal.SIGUSR1, note)
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
print("ready", flush=True)
signal.pause()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
@pytest.mark.parametrize("ignoring", [False, True])
def test_signals_reach_the_command_even_if_they_were_ignored(
    tmp_path: Path, number: signal.Signals, ignoring: bool
) -> None:
    process = start(tmp_path, sys.executable, "-c", LISTENING, ignoring=ignoring)
    assert process.stdout is not None
    assert process.stdout.readline() == "[0] waits\n"
    assert process.stdout.readline() == "[0] ready\n"
    process.send_signal(number)
    output, _ = process.communicate(timeout=60)
    assert (process.returncode, output) == (7, f"[0] {number.name}\n")
