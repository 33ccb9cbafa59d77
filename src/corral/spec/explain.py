"""A validation error in words for the person who wrote the file: what is wrong and what would be right.

A value is quoted only where it is short and on one line, because whole files get pasted into the wrong
place, private keys among them.
"""

from __future__ import annotations

from typing import Any, cast, get_args

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from corral.spec import values
from corral.spec.document import KEY, Where
from corral.spec.sections import choices, takes_list, valid_keys
from corral.spec.suggest import did_you_mean

_LONGEST_QUOTE = 60


def explain(error: ValidationError, data: object) -> list[tuple[Where, str]]:
    """Every mistake once, with its place in the data."""
    mistakes: dict[Where, str] = {}
    for detail in error.errors(include_url=False):
        where = _where(detail["loc"], data)
        if detail["type"] == "missing":
            where = (*where, detail["loc"][-1])
        elif detail["type"] == "extra_forbidden":
            where = (*where, KEY)
        mistakes.setdefault(where, _message(detail, where))
    return list(mistakes.items())


def dotted(where: Where) -> str:
    """A place as people write it: machines.node0.roles[1]."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where if part != KEY)
    return text.removeprefix(".") or "the file"


def _where(loc: tuple[str | int, ...], data: object) -> Where:
    """The location, less what names a branch of the model and not a place in the file."""
    where: Where = ()
    for part in loc:
        known = range(len(data)) if isinstance(data, list) else data if isinstance(data, dict) else ()
        if part in known:
            where, data = (*where, part), cast("Any", data)[part]
        elif part == KEY:
            where = (*where, KEY)
    return where


def _message(detail: ErrorDetails, where: Where) -> str:
    kind, value = detail["type"], detail["input"]
    context: dict[str, Any] = detail.get("ctx", {})
    place = dotted(where)
    if kind == "extra_forbidden":
        return _unknown_key(where[:-1])
    if kind == "missing":
        return f"{dotted(where[:-1])} lacks the key '{where[-1]}'"
    if kind == "literal_error":
        return _wrong_choice(where, value)
    if kind == "string_pattern_mismatch":
        name, words = _EXPLANATIONS[context["pattern"]]
        return f"{_quoted(value)} is not a valid {name}; use {words}"
    if kind == "value_error":
        return f"{_quoted(value)} is {context['error']}"
    if kind == "greater_than_equal":
        return f"{place} is too small: {value}; use {context['ge']} or more"
    if kind == "less_than_equal":
        return f"{place} is too large: {value}; use {context['le']} or less"
    if kind == "too_short":
        return f"{place} is empty; it needs at least one entry"
    if kind in _SHAPES:
        return f"{place} must be {_SHAPES[kind]}, not {_quoted(value)}"
    return f"{place}: {detail['msg']}"


def _unknown_key(where: Where) -> str:
    key, valid = str(where[-1]), valid_keys(where[:-1])
    return (
        f"unknown key {_quoted(key)} in {dotted(where[:-1])}; valid keys: {', '.join(valid)}{did_you_mean(key, valid)}"
    )


def _wrong_choice(where: Where, value: object) -> str:
    valid = choices(where)
    also = ", or a list such as [node0, node1]" if takes_list(where) else ""
    nearest = did_you_mean(value, valid) if isinstance(value, str) else ""
    return f"{dotted(where)} cannot be {_quoted(value)}; valid choices: {', '.join(valid)}{also}{nearest}"


def _quoted(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"'{value}'" if len(value) <= _LONGEST_QUOTE and value.isprintable() else "this text"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, dict):
        return "a section"
    return "empty" if value is None else str(value)


_SECTION = "a section of 'key: value' lines"
_SHAPES = {
    "model_type": _SECTION,
    "dict_type": _SECTION,
    "tuple_type": "a list such as [a, b]",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "string_type": "text",
    "path_type": "a path",
}


def _explanations() -> dict[str, tuple[str, str]]:
    """Name and explanation of every pattern, from the annotations that carry the pattern itself."""
    result = {}
    for kind in vars(values).values():
        for info in get_args(kind):
            if isinstance(info, FieldInfo) and info.title and info.description:
                result.update({rule.pattern: (info.title, info.description) for rule in info.metadata})
    return result


_EXPLANATIONS = _explanations()
