"""Runs a function that was sent from Python: reads `call.pkl` in the job's folder, leaves `result.pkl` there.

`call.pkl` is one line of JSON, {"python": [3, 12]}, and then the pickle of (function, args, kwargs). The jobs of a map
read `calls.pkl` in their array's folder instead: its line of JSON also has the "sizes" in bytes of the pickles that
follow, of the function and then of each job's args. `result.pkl` is the pickle of (True, value, "") or
(False, exception, traceback). Every rank runs the function and the first one's result counts; the others leave
`result.N.pkl` only if they fail.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import reprlib
import sys
import traceback
from pathlib import Path
from typing import Any, BinaryIO

from corral.checkpoint import AGAIN
from corral.inside import files

VENDOR = "/opt/corral/vendor"

Outcome = tuple[bool, Any, str]


def main() -> int:
    """Run the call of this job; the exit code says whether it went well."""
    folder = Path(os.environ["CORRAL_JOB_DIR"])
    rank = os.environ.get("RANK") or os.environ.get("SLURM_PROCID") or "0"
    outcome = _outcome(folder)
    if outcome[0]:
        if rank == "0":
            outcome = _leave(folder, "result.pkl", outcome)
    else:
        _leave(folder, "result.pkl" if rank == "0" else f"result.{rank}.pkl", outcome)
    sys.stderr.write(outcome[2])
    return 0 if outcome[0] else 1


def _outcome(folder: Path) -> Outcome:
    try:
        function, args, kwargs = _call(folder)
        return True, function(*args, **kwargs), ""
    except SystemExit as stop:
        if stop.code == AGAIN:  # corral.checkpoint: there is no result yet
            raise
        return False, RuntimeError(f"the function called sys.exit({stop.code!r})"), traceback.format_exc()
    except Exception as error:
        return False, error, traceback.format_exc()


def _call(folder: Path) -> tuple[Any, Any, Any]:
    trial = os.environ.get("CORRAL_TRIAL")
    path = folder / "call.pkl" if trial is None else folder.parents[1] / "calls.pkl"
    with path.open("rb") as file:
        header = json.loads(file.readline())
        _check_python(tuple(header["python"][:2]))
        _let_cloudpickle_be_found()
        # The user's own files.
        if trial is None:
            function, args, kwargs = pickle.load(file)  # noqa: S301 (what the person sent)
            return function, args, kwargs
        size, *sizes = header["sizes"]
        function = pickle.loads(file.read(size))  # noqa: S301 (as above)
        file.seek(sum(sizes[: int(trial)]), os.SEEK_CUR)
        return function, pickle.load(file), {}  # noqa: S301 (as above)


def _check_python(sender: tuple[int, ...]) -> None:
    if sender != sys.version_info[:2]:
        # Functions travel as byte code, which every minor release changes.
        here = ".".join(map(str, sys.version_info[:2]))
        theirs = ".".join(map(str, sender))
        raise RuntimeError(
            f"the function was sent by Python {theirs}, but the job runs Python {here}: functions need the same. "
            "Give the job an environment with that Python (--env), or send a script"
        )


def _let_cloudpickle_be_found() -> None:
    # At the end of the path, so that what the user's environment has comes first.
    if importlib.util.find_spec("cloudpickle") is None and VENDOR not in sys.path:
        sys.path.append(VENDOR)


def _leave(folder: Path, name: str, outcome: Outcome) -> Outcome:
    content, outcome = _pickled(outcome)

    def write(file: BinaryIO) -> str:
        file.write(content)
        return name

    files.replace(folder, write)
    return outcome


def _pickled(outcome: Outcome) -> tuple[bytes, Outcome]:
    """The outcome in bytes that load on the other side; a value that cannot travel is a failure that says so."""
    try:
        content = _dumps(outcome)
        if not outcome[0]:
            # Exceptions with arguments of their own often pickle well and do not load.
            pickle.loads(content)  # noqa: S301 (just made here)
        return content, outcome
    except Exception as error:
        ok, value, text = outcome
        if ok:
            message = f"the function returned {reprlib.repr(value)}, which cannot be sent back: {error}"
            outcome = (False, TypeError(message), traceback.format_exc())
        else:
            outcome = (False, RuntimeError(f"{type(value).__name__}: {value}"), text)
        return pickle.dumps(outcome), outcome


def _dumps(outcome: Outcome) -> bytes:
    # Results may be of classes from the sender's __main__, which only cloudpickle sends by value.
    try:
        import cloudpickle  # type: ignore[import-not-found,import-untyped,unused-ignore]  # may be absent in a job
    except ImportError:
        return pickle.dumps(outcome)
    return bytes(cloudpickle.dumps(outcome))


if __name__ == "__main__":
    sys.exit(main())
