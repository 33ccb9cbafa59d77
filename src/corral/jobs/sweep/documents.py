"""`--file FILE`: a whole declaration as YAML or JSON, its values kept as they were written.

grid:   {lr: [1e-3, 1e-4], seed: 0..9}
random: {dropout: 0.0..0.5, act: [relu, gelu]}
trials: 50
seed: 0
list: [{model: small, width: 64}, {model: large, width: 256}]
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from corral.errors import InputError
from corral.jobs.sweep.listed import parse_json, read_text, row, scalar, unique_names
from corral.jobs.sweep.sampling import Choice, Distribution, distribution
from corral.jobs.sweep.space import Declaration
from corral.jobs.sweep.values import checked_name, listed_values, range_or_value

if TYPE_CHECKING:
    import yaml

_KEYS = ("grid", "random", "trials", "seed", "list")


def read_document(path: Path) -> Declaration:
    """Read the file; every mistake names the file and the key."""
    where = f"--file {path}"
    text = read_text("--file", path)
    found = parse_json(where, text) if text.lstrip().startswith("{") else _parse_yaml(where, text)
    keys = _mapping(where, found)
    for key in keys:
        if key not in _KEYS:
            raise InputError(f"{where}: {key!r} is no key of a sweep. The keys are {', '.join(_KEYS)}")
    grid = _mapping(f"{where}: grid", keys.get("grid") or {})
    random = _mapping(f"{where}: random", keys.get("random") or {})
    rows = keys.get("list") or []
    if not isinstance(rows, list):
        raise InputError(f"{where}: list must be a list of trials such as {{lr: 1e-3, seed: 0}}")
    return Declaration(
        grid={name: _values(f"{where}: grid: {name}", value) for name, value in grid.items()},
        random={name: _distribution(f"{where}: random: {name}", value) for name, value in random.items()},
        rows=tuple(
            row(f"{where}: list: trial {number}", _mapping(f"{where}: list: trial {number}", one))
            for number, one in enumerate(rows, 1)
        ),
        trials=_count(f"{where}: trials", keys.get("trials")),
        seed=_count(f"{where}: seed", keys.get("seed")),
    )


def _mapping(where: str, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise InputError(f"{where}: must be names with values, such as {{lr: …}}")
    return value


def _values(where: str, value: object) -> tuple[str, ...]:
    checked_name(where, where.rsplit(": ", 1)[1])
    if not isinstance(value, list):
        return listed_values(where, scalar(where, value) or "")
    values = [text for item in value if (text := scalar(where, item)) is not None]
    if not values:
        raise InputError(f"{where}: there are no values")
    return tuple(written for text in values for written in range_or_value(where, text))


def _distribution(where: str, value: object) -> Distribution:
    if isinstance(value, list):
        return Choice(_values(where, value))
    checked_name(where, where.rsplit(": ", 1)[1])
    return distribution(where, scalar(where, value) or "")


def _count(where: str, value: object) -> int | None:
    text = scalar(where, value)
    if text is None:
        return None
    if not text.isdecimal():
        raise InputError(f"{where}: {text!r} is no whole number")
    return int(text)


def _parse_yaml(where: str, text: str) -> object:
    try:
        import yaml
    except ModuleNotFoundError as missing:
        raise InputError(
            f"{where}: YAML cannot be read here, because PyYAML is not installed. Write the same as JSON, which "
            'needs nothing: {"grid": {"lr": ["1e-3", "1e-4"]}}'
        ) from missing
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        return {} if root is None else _plain(where, root)
    except (yaml.YAMLError, RecursionError) as problem:
        raise InputError(f"{where}: no valid YAML: {' '.join(str(problem).split())}") from problem


def _plain(where: str, node: yaml.Node) -> object:
    """The document with every scalar as it was written: `1e-3` stays `1e-3`, `yes` stays `yes`."""
    import yaml

    if isinstance(node, yaml.MappingNode):
        line = f"{where}, line {node.start_mark.line + 1}"
        return unique_names(line, [(str(key.value), _plain(where, value)) for key, value in node.value])
    if isinstance(node, yaml.SequenceNode):
        return [_plain(where, item) for item in node.value]
    return None if node.tag == "tag:yaml.org,2002:null" else str(node.value)
