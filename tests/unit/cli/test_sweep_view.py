"""A sweep on a terminal, with and without colours."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType

from corral.cli.sweep_view import SweepView, plots_view, results_view, status_view
from corral.jobs.sweep.results import Objective, Report, TrialResult, ranked, result
from corral.jobs.sweep.space import Trial
from corral.jobs.sweep.trials import SweepStatus, TrialState, TrialStatus

LOSS = Objective("loss", minimize=True)


def printed(view: RenderableType, width: int = 100) -> list[str]:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(view)
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().split("\n")]


def sweep(*states: TrialState) -> SweepView:
    trials = tuple(Trial(index, (("lr", f"[1e-{index}]"),)) for index in range(len(states)))
    status = SweepStatus(tuple(TrialStatus(index, state) for index, state in enumerate(states)))
    return SweepView("261115-101112-ab3d", "train", trials, status)


def one(index: int, *reports: Report, state: TrialState = TrialState.DONE, **params: str) -> TrialResult:
    return result(Trial(index, tuple(params.items())), state, reports)


def test_the_states_are_one_bar_in_which_even_one_failure_is_seen() -> None:
    lines = printed(status_view(sweep(*[TrialState.DONE] * 998, TrialState.FAILED, TrialState.LOST)))
    assert lines[1] == "█" * 48 + "✗?  998 done  1 failed  1 lost"


def test_only_trials_to_do_something_about_are_listed() -> None:
    lines = printed(status_view(sweep(TrialState.DONE, TrialState.WAITING, TrialState.LOST, TrialState.FAILED)))
    rows = [line.split() for line in lines[4:6]]
    assert rows[0][:3] == ["3", "failed", "lr=[1e-3]"]
    assert rows[1][:3] == ["2", "lost", "lr=[1e-2]"]
    assert "corral sweep resume 261115-101112-ab3d" in lines[6]
    assert len(printed(status_view(sweep(TrialState.DONE, TrialState.WAITING)))) == 3


def test_many_failures_are_counted_rather_than_listed() -> None:
    lines = printed(status_view(sweep(*[TrialState.FAILED] * 500)))
    assert len(lines) < 20
    assert any("and 490 more" in line for line in lines)


def test_results_show_the_best_first_and_say_once_what_never_varies() -> None:
    results = ranked(
        [one(n, {"time": 1.0, "step": 9, "loss": 3.0 - n}, lr=f"1e-{n}", data="mnist") for n in range(3)], LOSS
    )
    assert printed(results_view(results, LOSS)) == [
        "lowest loss 1: trial 2 (lr=1e-2 data=mnist)",
        "all with data=mnist",
        "TRIAL    LR  LOSS ↓  STEP",
        "    2  1e-2       1     9",
        "    1  1e-1       2     9",
        "    0  1e-0       3     9",
        "",
    ]


def test_states_have_a_column_when_not_all_trials_are_done() -> None:
    results = [
        one(0, {"loss": 1.0}, x="a"),
        one(1, {"loss": float("nan")}, x="b", state=TrialState.FAILED),
        one(2, x="c"),
    ]
    lines = printed(results_view(results, LOSS))
    assert lines[1].split() == ["TRIAL", "STATE", "X", "LOSS", "↓"]
    assert lines[3].split() == ["1", "failed", "b", "nan"]
    assert lines[4].split() == ["2", "done", "c", "–"]


def test_long_tables_end_with_how_many_more_there_are() -> None:
    results = [one(n, {"loss": float(n)}, x=str(n)) for n in range(50)]
    assert printed(results_view(results, LOSS, most=5))[-2] == "… and 45 more: --all, or --csv FILE"


def test_without_results_the_view_says_so() -> None:
    assert printed(results_view([one(0, x="1")], None))[0] == "no trial has reported anything yet"
    assert "Name one with --best" in printed(plots_view([one(0, {"note": "a"}, x="1")], None, 100))[0]


def test_plots_fit_the_terminal() -> None:
    results = [one(n, {"step": 1, "loss": 2.0}, {"step": 2, "loss": n / 10}, lr=f"1e-{n}") for n in range(9)]
    lines = printed(plots_view(results, LOSS, 70), width=70)
    assert lines[0] == "loss by lr"
    assert max(len(line) for line in lines) <= 70
    assert any(line == "loss by step" for line in lines)
