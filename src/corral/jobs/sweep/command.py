"""How a trial reaches the script: as arguments, in the places the command leaves for it, and as JSON.

Each parameter is passed once: it replaces `{name}` wherever the command has it, and is otherwise appended as
`--name value`. Any other braces stay as they are. Besides, `CORRAL_PARAMS` holds all of them as one JSON object.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Sequence

from corral.errors import InputError
from corral.jobs.sweep.listed import parse_json
from corral.jobs.sweep.space import Trial, written

_JSON_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")


def arguments(command: Sequence[str], trial: Trial) -> list[str]:
    """The command of one trial."""
    values = dict(trial.params)
    if not values:
        return list(command)
    # One pass over each word, so that a value which itself looks like a placeholder stays what it is.
    places = re.compile("|".join(re.escape(f"{{{name}}}") for name in values))
    placed: set[str] = set()

    def fill(found: re.Match[str]) -> str:
        name = found[0][1:-1]
        placed.add(name)
        return values[name]

    words = [places.sub(fill, word) for word in command]
    for name, value in trial.params:
        if name not in placed:
            words += [f"--{name}", value]
    return words


def args_file(command: Sequence[str], trials: Sequence[Trial]) -> str:
    """One line of shell words per trial: its `CORRAL_PARAMS`, then its command.

    In a batch script `eval "set -- $(sed -n "$((I + 1))p" FILE)"` makes them "$@" of trial I.
    """
    for word in command:
        if any(character in word for character in "\n\r\0"):
            raise InputError(f"the command holds a line break in {word!r}. Put it into a script and sweep over that")
    placeable = {name for trial in trials for name, _ in trial.params}
    for trial in trials:
        left_out = placeable - dict(trial.params).keys()
        for name in sorted(left_out):
            if any(f"{{{name}}}" in word for word in command):
                raise InputError(
                    f"the command has a place for {{{name}}}, but trial {trial.index} ({trial.text}) lacks it"
                )
    return "".join(shlex.join([params_json(trial), *arguments(command, trial)]) + "\n" for trial in trials)


def params_json(trial: Trial) -> str:
    """`CORRAL_PARAMS`: numbers as numbers (as they were written), true and false as such, all else as text."""
    pairs = (f"{json.dumps(name)}: {_json_value(value)}" for name, value in trial.params)
    return f"{{{', '.join(pairs)}}}"


def params_file(trials: Iterable[Trial]) -> str:
    """The declared trials, one JSON object per line: line I + 1 is `CORRAL_PARAMS` of trial I."""
    return "".join(params_json(trial) + "\n" for trial in trials)


def read_params_file(text: str) -> tuple[Trial, ...]:
    """The trials that `params_file` wrote down, exactly."""
    lines = [line for line in text.split("\n") if line]
    found: list[Trial] = []
    for index, line in enumerate(lines):
        where = f"trial {index} of the sweep"
        params = parse_json(where, line)
        if not isinstance(params, dict):
            raise InputError(f"{where} is no JSON object: {line}")
        found.append(Trial(index, tuple((name, written(value)) for name, value in params.items())))
    return tuple(found)


def _json_value(value: str) -> str:
    if value in ("true", "false") or _JSON_NUMBER.fullmatch(value):
        return value
    return json.dumps(value)
