"""What a person declares becomes the sweep's trials, in order.

Lists, grids and random draws all cross: `--grid seed=0..2 --random lr=log:1e-5..1e-1 --trials 50` runs each of 50
learning rates with each of 3 seeds. Lists vary slowest, then grids in their order, then random draws.
A trial declared twice runs once; whoever wants repetitions adds a seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from corral.errors import InputError
from corral.jobs.sweep.sampling import Distribution, draws
from corral.jobs.sweep.values import LIMIT, checked_name, checked_value

Params = tuple[tuple[str, str], ...]
"""Parameters of one trial, in the order in which they were declared, with values as they were written."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of the script; its index is the task's index in Slurm's array."""

    index: int
    params: Params

    @property
    def text(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.params)


@dataclass(frozen=True, slots=True)
class Declaration:
    """Everything that options, files or Python said about the trials."""

    grid: Mapping[str, Sequence[str]] = field(default_factory=dict)
    random: Mapping[str, Distribution] = field(default_factory=dict)
    rows: Sequence[Params] = ()
    trials: int | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Space:
    """The trials of a sweep, and what people should know about how they came about."""

    trials: tuple[Trial, ...]
    notices: tuple[str, ...] = ()


def written(value: object) -> str:
    """A value of Python as it would be written on the command line."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def space(declared: Declaration) -> Space:
    """Write out every trial."""
    _check(declared)
    factors: list[Sequence[Params]] = []
    if declared.rows:
        factors.append(declared.rows)
    factors.extend([((name, value),) for value in values] for name, values in declared.grid.items())
    if declared.random:
        factors.append(_drawn(declared))
    count = 1
    for factor in factors:
        count *= len(factor)
    if count > LIMIT:
        sizes = " × ".join(str(len(factor)) for factor in factors)
        raise InputError(f"the sweep has {sizes} = {count:,} trials; one sweep may have {LIMIT:,}. Split it up")
    every = [tuple(pair for part in parts for pair in part) for parts in product(*factors)]
    distinct = list(dict.fromkeys(every))
    trials = tuple(Trial(index, params) for index, params in enumerate(distinct))
    return Space(trials, _notices(len(every), len(distinct)))


def _notices(declared: int, distinct: int) -> tuple[str, ...]:
    if declared == distinct:
        return ()
    twice = declared - distinct
    what = "1 trial was" if twice == 1 else f"{twice:,} trials were"
    return (f"{what} declared more than once and will run once (to repeat trials, sweep over a seed)",)


def _drawn(declared: Declaration) -> list[Params]:
    columns = [
        [(name, value) for value in draws(declared.seed or 0, name, source, declared.trials or 0)]
        for name, source in declared.random.items()
    ]
    return list(zip(*columns, strict=True))


def _check(declared: Declaration) -> None:
    if not (declared.grid or declared.random or declared.rows):
        raise InputError("nothing to sweep over. Give --grid, --random, --list or --file")
    if declared.random and declared.trials is None:
        first = next(iter(declared.random))
        raise InputError(f"--random {first} needs --trials: how many random trials to run")
    if declared.trials is not None:
        if not declared.random:
            raise InputError("--trials counts random trials, and there is no --random")
        if not 1 <= declared.trials <= LIMIT:
            raise InputError(f"--trials {declared.trials}: must be from 1 to {LIMIT:,}")
    for name, values in declared.grid.items():
        _check_values(name, values)
    for row in declared.rows:
        for name, value in row:
            _check_values(name, (value,))
    in_rows = {name for row in declared.rows for name, _ in row}
    for name in sorted(in_rows & {*declared.grid, *declared.random} | (set(declared.grid) & set(declared.random))):
        raise InputError(f"{name} is declared twice. Each parameter is declared in one place")


def _check_values(name: str, values: Sequence[str]) -> None:
    checked_name("the sweep", name)
    if not values:
        raise InputError(f"{name} has no values")
    for value in values:
        checked_value(name, value)
