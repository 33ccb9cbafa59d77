"""Functions that were sent: real pickles, run by the real command."""

from __future__ import annotations

import json
import operator
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.inside.scripts import SOURCES

COMMAND = "import sys; from corral.inside import call; call.VENDOR = sys.argv[1]; sys.exit(call.main())"
HERE = list(sys.version_info[:2])


def send(job: Path, function: Callable[..., Any], *args: Any, python: list[int] = HERE) -> None:
    (job / "call.pkl").write_bytes(json.dumps({"python": python}).encode() + b"\n" + pickle.dumps((function, args, {})))


def run(job: Path, *options: str, **environment: str) -> tuple[int, str]:
    """Exit code, and what it said; with options for Python."""
    done = subprocess.run(
        [sys.executable, *options, "-c", COMMAND, str(job / "vendor")],
        env=os.environ | {"PYTHONPATH": str(SOURCES), "CORRAL_JOB_DIR": str(job)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def result(job: Path, name: str = "result.pkl") -> tuple[bool, Any, str]:
    found: tuple[bool, Any, str] = pickle.loads((job / name).read_bytes())
    return found


def test_a_value_comes_back(tmp_path: Path) -> None:
    send(tmp_path, operator.add, [1], [2])
    assert run(tmp_path) == (0, "")
    assert result(tmp_path) == (True, [1, 2], "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["call.pkl", "result.pkl"]


def test_a_job_of_a_map_finds_its_own_arguments(tmp_path: Path) -> None:
    parts = [pickle.dumps(part) for part in (operator.add, (1, 2), ([1] * 500, [2]), ("a", "b"))]
    header = json.dumps({"python": HERE, "sizes": [len(part) for part in parts]}).encode()
    (tmp_path / "calls.pkl").write_bytes(header + b"\n" + b"".join(parts))
    unit = tmp_path / "trials" / "2"
    unit.mkdir(parents=True)
    assert run(unit, CORRAL_TRIAL="2") == (0, "")
    assert result(unit) == (True, "ab", "")


def test_an_exception_comes_back_with_its_traceback(tmp_path: Path) -> None:
    send(tmp_path, operator.truediv, 1, 0)
    code, said = run(tmp_path)
    ok, error, text = result(tmp_path)
    assert (code, ok, type(error)) == (1, False, ZeroDivisionError)
    assert "ZeroDivisionError: division by zero" in text
    assert text in said


def test_a_value_that_cannot_travel_is_shown(tmp_path: Path) -> None:
    send(tmp_path, threading.Lock)
    assert run(tmp_path)[0] == 1
    ok, error, _ = result(tmp_path)
    assert not ok
    assert "lock" in str(error)
    assert "cannot be sent back" in str(error)


def test_an_exception_that_does_not_load_is_told_in_words(tmp_path: Path) -> None:
    send(tmp_path, exec, "class Odd(Exception):\n  def __init__(self, a, b): super().__init__(a)\nraise Odd('so', 1)")
    run(tmp_path)
    ok, error, text = result(tmp_path)
    assert (ok, str(error)) == (False, "Odd: so")
    assert "Traceback" in text


def test_another_python_is_refused_in_plain_words(tmp_path: Path) -> None:
    send(tmp_path, operator.add, 1, 2, python=[3, 9])
    assert run(tmp_path)[0] == 1
    assert "sent by Python 3.9, but the job runs Python 3." in str(result(tmp_path)[1])


def test_a_function_that_exits_has_failed(tmp_path: Path) -> None:
    send(tmp_path, sys.exit, 0)
    assert run(tmp_path)[0] == 1
    assert str(result(tmp_path)[1]) == "the function called sys.exit(0)"


def test_a_function_that_saved_its_state_asks_to_run_again_and_has_no_result_yet(tmp_path: Path) -> None:
    send(tmp_path, sys.exit, 85)
    assert run(tmp_path)[0] == 85
    assert not (tmp_path / "result.pkl").exists()


@pytest.mark.parametrize("variable", ["RANK", "SLURM_PROCID"])
def test_other_ranks_leave_only_their_failures(tmp_path: Path, variable: str) -> None:
    send(tmp_path, operator.add, 1, 2)
    assert run(tmp_path, **{variable: "1"})[0] == 0
    assert not list(tmp_path.glob("result*"))
    send(tmp_path, operator.truediv, 1, 0)
    assert run(tmp_path, **{variable: "1"})[0] == 1
    assert [path.name for path in tmp_path.glob("result*")] == ["result.1.pkl"]


def test_what_corral_brings_is_found_if_the_environment_has_no_cloudpickle(tmp_path: Path) -> None:
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor/cloudpickle.py").write_text("from pickle import dumps\ndef double(x): return 2 * x\n")
    (tmp_path / "call.pkl").write_bytes(
        json.dumps({"python": HERE}).encode() + b"\n" + b"(ccloudpickle\ndouble\n(I21\nt}t."
    )
    code, said = run(tmp_path, "-S")
    assert code == 0, said
    assert result(tmp_path) == (True, 42, "")


def test_a_killed_call_leaves_no_result(tmp_path: Path) -> None:
    send(tmp_path, os.kill, 0, signal.SIGKILL)
    process = subprocess.Popen(
        [sys.executable, "-m", "corral.inside.call"],
        env=os.environ | {"PYTHONPATH": str(SOURCES), "CORRAL_JOB_DIR": str(tmp_path)},
        start_new_session=True,
    )
    assert process.wait(60) == -signal.SIGKILL
    assert [path.name for path in tmp_path.iterdir()] == ["call.pkl"]
