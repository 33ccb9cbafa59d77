"""What a person declares becomes trials, or one clear error."""

from __future__ import annotations

import pytest

from corral.errors import InputError
from corral.jobs.sweep.declare import declaration
from corral.jobs.sweep.space import Declaration, Space, space, written


def texts(found: Space) -> list[str]:
    return [trial.text for trial in found.trials]


def grid(*options: str) -> list[str]:
    return texts(space(declaration(grid=options)))


def drawn(*options: str, trials: int, seed: int = 0) -> list[str]:
    return texts(space(declaration(random=options, trials=trials, seed=seed)))


def test_a_grid_is_a_cross_product_whose_first_parameter_varies_slowest() -> None:
    found = space(declaration(grid=["lr=1e-3,1e-4", "seed=0..2"]))
    assert texts(found)[:4] == ["lr=1e-3 seed=0", "lr=1e-3 seed=1", "lr=1e-3 seed=2", "lr=1e-4 seed=0"]
    assert [trial.index for trial in found.trials] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("1e-3,1E-4,.5", ["1e-3", "1E-4", ".5"]),
        ("0..3", ["0", "1", "2", "3"]),
        ("-2..1", ["-2", "-1", "0", "1"]),
        ("0.1..0.5..0.1", ["0.1", "0.2", "0.3", "0.4", "0.5"]),
        ("0..1..0.3", ["0", "0.3", "0.6", "0.9"]),
        ("8..2..-3", ["8", "5", "2"]),
        ("0..1, 7, 10..11", ["0", "1", "7", "10", "11"]),
        ("\"a, b\",'c',d'e", ["a, b", "c", "d'e"]),
        ('"say ""hi""",""', ['say "hi"', ""]),
        ("'0..9'", ["0..9"]),
        ("../a,b..c,v1..2", ["../a", "b..c", "v1..2"]),
        ("0..1e4..1e3", [str(value) for value in range(0, 10001, 1000)]),
    ],
)
def test_values_ranges_and_quotes_are_read_as_written(written: str, values: list[str]) -> None:
    assert [trial.params[0][1] for trial in space(declaration(grid=[f"x={written}"])).trials] == values


@pytest.mark.parametrize(
    ("option", "what"),
    [
        ("x", "no '='"),
        ("x=", "a value is empty"),
        ("x=1,,2", "a value is empty"),
        ("x=1,", "a value is empty"),
        ("--lr=1", "without dashes: lr"),
        ("2x=1", "'2x' is no name"),
        ("=1", "'' is no name"),
        ("x=5..1", "5..1..-1"),
        ("x=1..5..0", "never gets from 1 to 5"),
        ("x=0..0.5", "lacks a step"),
        ("x=1..two", "is no range"),
        ("x=0..1e9", "more than 20,000"),
        ("x='a", "is not closed"),
        ("x='a'b", "is not closed"),
        ("x=a\nb", "line break"),
        ("x='\ud800'", "no valid UTF-8"),
    ],
)
def test_a_mistake_in_a_grid_names_the_option_and_what_is_wrong(option: str, what: str) -> None:
    with pytest.raises(InputError) as caught:
        grid(option)
    assert str(caught.value).startswith(f"--grid {option}")
    assert what in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_parameter_declared_twice_is_refused_wherever_it_is_declared() -> None:
    with pytest.raises(InputError, match="--grid x=2: x is declared twice"):
        grid("x=1", "x=2")
    with pytest.raises(InputError, match="x is declared twice"):
        space(declaration(grid=["x=1"], random=["x=a,b"], trials=2))


def test_a_sweep_too_large_for_one_array_is_refused_before_it_is_written_out() -> None:
    with pytest.raises(InputError, match=r"1000 × 1000 × 1000 = 1,000,000,000 trials; one sweep may have 20,000"):
        grid("a=1..1000", "b=1..1000", "c=1..1000")
    assert len(grid("a=1..200", "b=1..100")) == 20_000


def test_a_trial_declared_twice_runs_once_and_says_so() -> None:
    found = space(declaration(grid=["x=1,2,1"]))
    assert texts(found) == ["x=1", "x=2"]
    assert found.notices[0].startswith("1 trial was declared more than once")


def test_random_values_lie_where_they_were_asked_for() -> None:
    options = ["lr=log:1e-5..1e-1", "dropout=0..0.5", "layers=int:2..8", "act=relu,gelu"]
    params = [dict(trial.params) for trial in space(declaration(random=options, trials=500)).trials]
    rates = [float(trial["lr"]) for trial in params]
    assert all(1e-5 <= rate <= 1e-1 for rate in rates)
    # Log-uniform: as many below the geometric mean as above it.
    assert 200 < sum(rate < 1e-3 for rate in rates) < 300
    assert all(0 <= float(trial["dropout"]) <= 0.5 for trial in params)
    assert {trial["layers"] for trial in params} == {"2", "3", "4", "5", "6", "7", "8"}
    assert {trial["act"] for trial in params} == {"relu", "gelu"}


def test_random_trials_depend_on_the_seed_alone() -> None:
    first = drawn("lr=log:1e-5..1e-1", "layers=int:2..8", trials=3)
    assert first == ["lr=0.00127745 layers=4", "lr=0.000103168 layers=4", "lr=0.0865638 layers=6"]
    assert drawn("lr=log:1e-5..1e-1", "layers=int:2..8", trials=3, seed=1) != first


def test_more_trials_or_parameters_leave_the_values_that_were_drawn_before() -> None:
    few = drawn("lr=log:1e-5..1e-1", trials=5)
    assert drawn("lr=log:1e-5..1e-1", trials=9)[:5] == few
    assert [text.split()[1] for text in drawn("act=a,b", "lr=log:1e-5..1e-1", trials=5)] == few


@pytest.mark.parametrize(
    ("option", "what"),
    [
        ("a=2..8", "int:2..8 for whole numbers, or 2.0..8.0"),
        ("a=log:0..1", "above 0"),
        ("a=log:1,2", "is no interval"),
        ("a=int:1..2.5", "whole numbers"),
        ("a=0.5..0.1", "lower end comes first"),
        ("a=int:3..3", "lower end comes first"),
        ("a=", "empty"),
    ],
)
def test_a_mistake_in_a_random_parameter_names_the_option(option: str, what: str) -> None:
    with pytest.raises(InputError) as caught:
        drawn(option, trials=2)
    assert str(caught.value).startswith(f"--random {option}: ")
    assert what in str(caught.value)


def test_random_trials_need_their_number_and_only_they_have_one() -> None:
    with pytest.raises(InputError, match="--random lr needs --trials"):
        space(declaration(random=["lr=0.0..1.0"]))
    with pytest.raises(InputError, match="there is no --random"):
        space(declaration(grid=["lr=1"], trials=3))
    with pytest.raises(InputError, match="--trials 0: must be from 1"):
        drawn("lr=0.0..1.0", trials=0)
    with pytest.raises(InputError, match="nothing to sweep over"):
        space(Declaration())


def test_what_python_declares_is_checked_like_options() -> None:
    declared = Declaration(grid={"lr": [written(1e-3)], "amp": [written(True), written(False)]})
    assert texts(space(declared)) == ["lr=0.001 amp=true", "lr=0.001 amp=false"]
    for wrong, what in (
        ({"a b": ["1"]}, "'a b' is no name"),
        ({"a": []}, "a has no values"),
        ({"a": ["\n"]}, "line break"),
    ):
        with pytest.raises(InputError, match=what):
            space(Declaration(grid=wrong))
    with pytest.raises(InputError, match="'--a' is no name"):
        space(Declaration(rows=[(("--a", "1"),)]))


def test_every_random_draw_runs_with_every_point_of_the_grid() -> None:
    found = texts(space(declaration(grid=["seed=0..1"], random=["lr=log:1e-5..1e-1"], trials=3)))
    rates = [text.partition(" ")[2] for text in found]
    assert [text.partition(" ")[0] for text in found] == ["seed=0"] * 3 + ["seed=1"] * 3
    assert rates[:3] == rates[3:]
