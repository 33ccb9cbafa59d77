"""Which part of the model a place in the cluster file belongs to."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Annotated, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from corral.spec.document import Where
from corral.spec.model import ClusterSpec


def valid_keys(where: Where) -> tuple[str, ...]:
    """The keys that a section may have; nothing where the user chooses the keys."""
    for option in _options_at(where):
        if isinstance(option, type) and issubclass(option, BaseModel):
            return tuple(option.model_fields)
    return ()


def choices(where: Where) -> tuple[str, ...]:
    """The words that a value may be, where there is a fixed set of them."""
    return tuple(word for option in _options_at(where) if get_origin(option) is Literal for word in get_args(option))


def takes_list(where: Where) -> bool:
    return any(get_origin(option) is tuple for option in _options_at(where))


def with_empty_sections(data: object, where: Where = ()) -> object:
    """The data, with `{}` for every section that is there without content, such as a bare `node1:`."""
    if data is None and any(_is_section(option) for option in _options_at(where)):
        return {}
    if isinstance(data, dict):
        return {key: with_empty_sections(value, (*where, key)) for key, value in data.items()}
    return data


def _options_at(where: Where) -> list[object]:
    options: list[object] = [ClusterSpec]
    for part in where:
        options = [choice for option in options for inner in _inside(option, part) for choice in _flat(inner)]
    return options


def _inside(option: object, part: str | int) -> Iterator[object]:
    arguments = get_args(option)
    if isinstance(option, type) and issubclass(option, BaseModel):
        if part in option.model_fields:
            yield option.model_fields[str(part)].annotation
    elif get_origin(option) is dict:
        yield arguments[1]
    elif get_origin(option) is tuple and isinstance(part, int):
        yield arguments[0]


def _flat(annotation: object) -> Iterator[object]:
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _flat(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for option in get_args(annotation):
            yield from _flat(option)
    else:
        yield annotation


def _is_section(option: object) -> bool:
    return get_origin(option) is dict or (isinstance(option, type) and issubclass(option, BaseModel))
