"""`--list FILE`: a trial per row of CSV, per object of JSON Lines, or per line `lr=1e-3 seed=0` of a text."""

from __future__ import annotations

import csv
import io
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from corral.errors import InputError
from corral.jobs.sweep.space import Params
from corral.jobs.sweep.values import checked_name, checked_value


def read_list(path: Path) -> tuple[Params, ...]:
    """Read every trial of the file. What a trial does not give is left to the script's default."""
    readers = {".csv": _csv, ".jsonl": _jsonl, ".txt": _lines}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"--list {path}: the name must end in {', '.join(readers)}: it says how to read the file")
    rows = tuple(reader(f"--list {path}", read_text("--list", path)))
    if not rows:
        raise InputError(f"--list {path}: there are no trials in it")
    return rows


def read_text(option: str, path: Path) -> str:
    """The file's text, or one clear reason why not."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "not UTF-8"
        raise InputError(f"{option} {path}: cannot be read: {reason}") from problem


def scalar(where: str, value: object) -> str | None:
    """A value of a JSON or YAML document as a script would be given it; None where there is none."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return checked_value(where, value)
    raise InputError(f"{where}: {json.dumps(value)} is no single value")


def row(where: str, given: Mapping[str, object] | Iterable[tuple[str, object]]) -> Params:
    """One trial from names and values."""
    pairs = list(given.items() if isinstance(given, Mapping) else given)
    found: dict[str, str] = {}
    for name, value in pairs:
        if checked_name(where, name) in found:
            raise InputError(f"{where}: {name} is given twice")
        text = scalar(f"{where}: {name}", value)
        if text is not None:
            found[name] = text
    if not found:
        raise InputError(f"{where}: the trial has no parameters")
    return tuple(found.items())


def unique_names(where: str, pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A JSON object, refused if a name appears twice: JSON itself would silently keep the last."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{where}: {twice} is given twice")
    return found


def parse_json(where: str, text: str) -> object:
    """A JSON document with its numbers as they were written."""
    try:
        return json.loads(
            text,
            parse_float=str,
            parse_int=str,
            parse_constant=str,
            object_pairs_hook=lambda pairs: unique_names(where, pairs),
        )
    except (ValueError, RecursionError) as problem:
        raise InputError(f"{where}: no valid JSON: {problem}") from problem


def _csv(where: str, text: str) -> Iterator[Params]:
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip() for name in next(lines, [])]
        for cells in lines:
            if not any(cells):
                continue
            line = f"{where}, line {lines.line_num}"
            if len(cells) != len(header):
                raise InputError(f"{line}: {len(cells)} cells under {len(header)} names")
            yield row(line, [(name, cell.strip() or None) for name, cell in zip(header, cells, strict=True)])
    except csv.Error as problem:
        raise InputError(f"{where}, line {lines.line_num}: no valid CSV: {problem}") from problem


def _jsonl(where: str, text: str) -> Iterator[Params]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            found = parse_json(f"{where}, line {number}", line)
            if not isinstance(found, dict):
                raise InputError(f'{where}, line {number}: no JSON object such as {{"lr": 1e-3}}')
            yield row(f"{where}, line {number}", found)


def _lines(where: str, text: str) -> Iterator[Params]:
    for number, line in enumerate(text.split("\n"), 1):
        here = f"{where}, line {number}"
        try:
            words = shlex.split(line, comments=True)
        except ValueError as problem:
            raise InputError(f"{here}: a quote is not closed") from problem
        for word in words:
            if "=" not in word:
                raise InputError(f"{here}: {word!r} is no NAME=VALUE")
        if words:
            yield row(here, [(name, value) for name, _, value in (word.partition("=") for word in words)])
