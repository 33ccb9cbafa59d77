"""The options of `corral sweep`, and the files they name, as one declaration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from corral.errors import InputError
from corral.jobs.sweep.documents import read_document
from corral.jobs.sweep.listed import read_list
from corral.jobs.sweep.sampling import Distribution, distribution
from corral.jobs.sweep.space import Declaration
from corral.jobs.sweep.values import listed_values, split_assignment


def declaration(
    *,
    grid: Sequence[str] = (),
    random: Sequence[str] = (),
    trials: int | None = None,
    seed: int | None = None,
    list_file: Path | None = None,
    file: Path | None = None,
) -> Declaration:
    """Read options and files. What a file declares comes first; `--trials` and `--seed` have the last word."""
    base = Declaration() if file is None else read_document(file)
    grids = dict(base.grid)
    for text in grid:
        name, values = split_assignment("--grid", text)
        _new(f"--grid {text}", name, grids)
        grids[name] = listed_values(f"--grid {text}", values)
    randoms: dict[str, Distribution] = dict(base.random)
    for text in random:
        name, values = split_assignment("--random", text)
        _new(f"--random {text}", name, randoms)
        randoms[name] = distribution(f"--random {text}", values)
    rows = tuple(base.rows)
    if list_file is not None:
        if rows:
            raise InputError(f"--list {list_file}: {file} has a list already. Keep one of them")
        rows = read_list(list_file)
    return Declaration(
        grid=grids,
        random=randoms,
        rows=rows,
        trials=base.trials if trials is None else trials,
        seed=base.seed if seed is None else seed,
    )


def _new(where: str, name: str, known: dict[str, Distribution] | dict[str, Sequence[str]]) -> None:
    if name in known:
        raise InputError(f"{where}: {name} is declared twice. Put all its values into one option")
