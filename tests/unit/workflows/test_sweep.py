"""Sweeps that were sent: found, looked at, resumed and cancelled."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest
from tests.unit.jobs.bench import TOKEN, Controller, asked, desk_in, says, sent

from corral.errors import InputError
from corral.jobs.desk import Desk
from corral.jobs.layout import TRIAL_PARAMS
from corral.jobs.sweep.command import params_file
from corral.jobs.sweep.results import parse_objective
from corral.jobs.sweep.space import Trial
from corral.jobs.sweep.trials import TrialState
from corral.workflows import sweep as workflow

LATER = "260102-120000-abcd"
LONG_AGO = int(time.time()) - 3600


@pytest.fixture
def controller() -> Controller:
    return Controller()


@pytest.fixture
def desk(tmp_path: Path, controller: Controller) -> Desk:
    return desk_in(tmp_path, controller)


def made(desk: Desk, token: str = TOKEN, submitted: str = f"1 7 {LONG_AGO} 0-4\n", count: int = 5) -> Path:
    folder = sent(desk, submitted, array=f"0-{count - 1}%2", token=token)
    (folder / "job.json").write_text(json.dumps({"request": {"name": f"name of {token}"}}))
    (folder / TRIAL_PARAMS).write_text(params_file([Trial(n, (("lr", str(n)),)) for n in range(count)]))
    return folder


def ended(folder: Path, trial: int, code: int, log: str = "") -> None:
    (folder / "trials" / str(trial)).mkdir(parents=True)
    (folder / "trials" / str(trial) / "ended").write_text(f"{code}\n")
    (folder / "logs").mkdir(exist_ok=True)
    (folder / "logs" / f"{trial}.log").write_text(log)


def row(label: str, state: str, folder: Path) -> str:
    return f"{label}\x1f{state}\x1f0:0\x1f{folder}\n"


def find(desk: Desk, which: str | None = None) -> workflow.Sweep:
    return asyncio.run(workflow.find_sweep(desk, which))


def test_a_sweep_is_found_by_its_token_or_any_of_its_numbers_or_as_the_latest(desk: Desk) -> None:
    made(desk, TOKEN, f"1 7 {LONG_AGO} 0-4\n2 0 {LONG_AGO} 3\n2 9 {LONG_AGO} 3\n")
    made(desk, LATER, f"1 77 {LONG_AGO} 0-4\n")
    sent(desk, f"1 99 {LONG_AGO} -\n", token="260103-120000-abcd")
    assert find(desk).name == f"name of {LATER}"
    for which in (TOKEN, "7", "9", "7_3"):
        found = find(desk, which)
        assert (found.folder.token, found.job_id, len(found.trials)) == (TOKEN, 9, 5)


@pytest.mark.parametrize("which", ["8", "99", "260101-120000-none"])
def test_a_sweep_that_is_not_there_is_named(desk: Desk, which: str) -> None:
    made(desk)
    sent(desk, f"1 99 {LONG_AGO} -\n", token="260103-120000-abcd")
    with pytest.raises(InputError, match=f"has no sweep {which}"):
        find(desk, which)


@pytest.mark.parametrize("which", ["train", "$(id)", "12; id", ""])
def test_what_cannot_be_a_sweep_is_refused_with_what_could_be_written(desk: Desk, which: str) -> None:
    made(desk)
    with pytest.raises(InputError, match="write its job number"):
        find(desk, which)


def test_whoever_has_no_sweeps_yet_is_told_so(desk: Desk) -> None:
    with pytest.raises(InputError, match="has no sweeps yet"):
        find(desk)


def test_every_trial_is_accounted_for_and_what_nobody_runs_is_sent_again(
    desk: Desk, controller: Controller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(desk)
    ended(folder, 0, 0)
    ended(folder, 1, 3)
    says(monkeypatch, tmp_path, squeue=row("7_2", "RUNNING", folder), sacct=row("7_3", "CANCELLED by 0", folder))
    sweep = find(desk)
    states = [trial.state for trial in asyncio.run(workflow.status_of(desk, sweep)).trials]
    assert [state.value for state in states] == ["done", "failed", "running", "cancelled", "lost"]
    assert asyncio.run(workflow.resume(desk, sweep, failed=False)) == (3, 4)
    assert controller.taken[0].array == "3-4%2"
    assert (folder / "trials/1/ended").exists()


def test_failed_trials_run_again_when_that_is_asked_for(
    desk: Desk, controller: Controller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(desk)
    for trial in range(5):
        ended(folder, trial, trial % 2)
    says(monkeypatch, tmp_path, squeue="", sacct="")
    sweep = find(desk)
    assert asyncio.run(workflow.resume(desk, sweep, failed=False)) == ()
    assert asyncio.run(workflow.resume(desk, sweep, failed=True)) == (1, 3)
    assert [one.array for one in controller.taken] == ["1,3%2"]
    assert asked(tmp_path, "sacct") == []


def test_cancelling_ends_each_array_once(
    desk: Desk, controller: Controller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(desk, TOKEN, f"1 7 {LONG_AGO} 0-4\n2 9 {LONG_AGO} 3-4\n")
    ended(folder, 0, 0)
    rows = [("7_1", "RUNNING"), ("7_2", "PENDING"), ("7_3", "COMPLETED"), ("9_3", "PENDING"), ("9_4", "PENDING")]
    says(monkeypatch, tmp_path, squeue="".join(row(label, state, folder) for label, state in rows), sacct="")
    assert asyncio.run(workflow.cancel(desk, find(desk))) == 4
    assert controller.cancelled == ["7", "9"]


def test_results_are_what_trials_reported_or_else_printed_last_and_the_best_comes_first(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(desk, count=3, submitted=f"1 7 {LONG_AGO} 0-2\n")
    ended(folder, 0, 0, log='noise\n{"loss": 0.5}\n')
    ended(folder, 1, 0, log='{"loss": 9}\n')
    (folder / "trials/1/metrics.jsonl").write_text('{"loss": 0.9}\n{"loss": 0.1}\n')
    ended(folder, 2, 1, log="Traceback\n")
    says(monkeypatch, tmp_path, squeue="", sacct="")
    rows, objective = asyncio.run(workflow.results_of(desk, find(desk), None))
    assert objective == parse_objective("min:loss")
    assert [(one.trial.index, one.values.get("loss")) for one in rows] == [(1, 0.1), (0, 0.5), (2, None)]
    assert rows[2].state is TrialState.FAILED
