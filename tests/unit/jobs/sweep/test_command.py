"""Every value reaches the script as it was written, through a real shell."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from corral.errors import InputError
from corral.jobs.sweep.command import args_file, arguments, params_file, params_json, read_params_file
from corral.jobs.sweep.space import Trial

HOSTILE = (
    "", " ", "a b", "it's", '"quoted"', "$HOME", "`id`", "$(id)", "\\", "\\n", "*", "~", "!x", "a;b", "a&b|c", "#x",
    "{x,y}", "-n", "--", "ü→😀", "\t", "%s", "=", "{other}", "\u2028", "\x0b\x0c", "'" * 5,
)  # fmt: skip


def trial(**params: str) -> Trial:
    return Trial(0, tuple(params.items()))


def test_parameters_are_appended_as_options_in_their_order() -> None:
    found = arguments(["python", "train.py", "--fast"], trial(lr="1e-3", seed="0"))
    assert found == ["python", "train.py", "--fast", "--lr", "1e-3", "--seed", "0"]


def test_a_parameter_with_a_place_in_the_command_goes_there_and_nowhere_else() -> None:
    found = arguments(["./run", "{lr}", "--out=run-{seed}-{lr}", "{unknown}"], trial(lr="1", seed="{lr}", x="9"))
    assert found == ["./run", "1", "--out=run-{lr}-1", "{unknown}", "--x", "9"]


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_a_batch_script_gets_every_value_as_it_was_written(tmp_path: Path, shell: str) -> None:
    trials = [Trial(index, (("other", value), ("x", "{other}"))) for index, value in enumerate(HOSTILE)]
    (tmp_path / "args").write_text(args_file(["printf", "%s\\0", "a '{other}'"], trials))
    script = f'for i in $(seq 1 {len(trials)}); do eval "set -- $(sed -n "${{i}}p" args)"; "$@"; done'
    # The first word of each line is CORRAL_PARAMS; here it is printed in front of what the command prints.
    script = script.replace('"$@"', 'printf "%s\\0" "$1"; shift; "$@"')
    done = subprocess.run(
        [shell, "-c", script], cwd=tmp_path, capture_output=True, check=True, env={**os.environ, "LC_ALL": "C"}
    )
    printed = done.stdout.decode().split("\0")[:-1]
    expected: list[str] = []
    for one in trials:
        expected += [params_json(one), *arguments(["printf", "%s\\0", "a '{other}'"], one)[2:]]
    assert printed == expected


def test_a_command_with_a_line_break_is_refused() -> None:
    with pytest.raises(InputError, match="Put it into a script"):
        args_file(["bash", "-c", "a\nb"], [trial(x="1")])


def test_a_place_that_a_trial_cannot_fill_is_refused() -> None:
    trials = [Trial(0, (("a", "1"), ("b", "2"))), Trial(1, (("a", "1"),))]
    assert args_file(["run", "{a}"], trials).count("\n") == 2
    with pytest.raises(InputError, match=r"a place for \{b\}, but trial 1 \(a=1\) lacks it"):
        args_file(["run", "{b}"], trials)


def test_numbers_and_truth_values_are_such_in_json_and_all_else_is_text() -> None:
    found = json.loads(params_json(trial(lr="1e-3", seed="007", amp="true", inf="inf", name='a "b"', neg="-2.5")))
    assert found == {"lr": 1e-3, "seed": "007", "amp": True, "inf": "inf", "name": 'a "b"', "neg": -2.5}


def test_the_declared_trials_are_read_back_exactly() -> None:
    values = (*HOSTILE, "1e-3", "1.50", "007", "true", "null", "NaN", "Infinity", "-0")
    trials = tuple(Trial(index, (("x", value), ("y", "1"))) for index, value in enumerate(values))
    assert read_params_file(params_file(trials)) == trials
    without = (Trial(0, ()), Trial(1, ()))
    assert read_params_file(params_file(without)) == without
