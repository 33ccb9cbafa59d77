"""The values of one parameter as people write them: `1e-3,1e-4`, `0..9`, `0..1..0.25`, `"a, b",c`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from corral.errors import InputError

LIMIT = 20_000
"""The most trials of one sweep: what Slurm takes as one array (MaxArraySize - 1 as Corral deploys it)."""

NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,2})?"
_BEGINS_A_RANGE = re.compile(rf"{NUMBER}\.\.")
# A number may end with a dot, so the first one is matched lazily: `0..9` is 0 to 9, not `0.` and `.9`.
_RANGE = re.compile(rf"(?P<a>{NUMBER}?)\.\.(?P<b>{NUMBER})(?:\.\.(?P<step>{NUMBER}))?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def split_assignment(option: str, text: str) -> tuple[str, str]:
    """Take `lr=1e-3,1e-4` apart into name and values."""
    name, equals, values = text.partition("=")
    if not equals:
        raise InputError(f"{option} {text}: no '='. Write it as NAME=VALUES, for example lr=1e-3,1e-4")
    return checked_name(f"{option} {text}", name.strip()), values


def checked_name(where: str, name: str) -> str:
    """Names become options of the script, so they must look like some."""
    if not _NAME.fullmatch(name):
        hint = f". Write it without dashes: {name.lstrip('-')}" if _NAME.fullmatch(name.lstrip("-")) else ""
        raise InputError(f"{where}: {name!r} is no name for a parameter (letters, digits, '_', '-' and '.'){hint}")
    return name


def checked_value(where: str, value: str) -> str:
    """One value is one word of a command and one line of a file."""
    if any(character in value for character in "\n\r\0"):
        raise InputError(f"{where}: {value!r} holds a line break, which no value of a sweep may")
    if not value.isprintable() and any("\ud800" <= character <= "\udfff" for character in value):
        raise InputError(f"{where}: {value!r} is no valid UTF-8")
    return value


def listed_values(where: str, text: str) -> tuple[str, ...]:
    """Every value of a comma-separated text, with its ranges written out."""
    values: list[str] = []
    for item, quoted in _items(where, text):
        values.extend([checked_value(where, item)] if quoted else range_or_value(where, item))
    return tuple(values)


def range_or_value(where: str, item: str) -> tuple[str, ...]:
    """Write out `a..b` or `a..b..step`; anything else is a value as it is."""
    found = _RANGE.fullmatch(item)
    if found is None:
        if _BEGINS_A_RANGE.match(item):
            raise InputError(f"{where}: {item!r} is no range. Write a..b or a..b..step, or quote it if it is a text")
        return (checked_value(where, item),)
    start, end = Decimal(found["a"]), Decimal(found["b"])
    if found["step"] is None and not (_is_whole(start) and _is_whole(end)):
        raise InputError(f"{where}: {item} lacks a step. Write for example {item}..{abs(end - start) / 4}")
    step = Decimal(found["step"] or 1)
    if step == 0 or (end - start) * step < 0:
        down = f". To count down write {start}..{end}..-{abs(step)}" if step else ""
        raise InputError(f"{where}: {item} never gets from {start} to {end} in steps of {step}{down}")
    steps = (end - start) / step
    if steps >= LIMIT:
        raise InputError(f"{where}: {item} has more than {LIMIT:,} values, the most that one sweep may have")
    return tuple(_plain(start + index * step) for index in range(int(steps) + 1))


def _plain(number: Decimal) -> str:
    """The number as Python's int or float would show it, without the rounding errors of adding floats."""
    return str(int(number)) if _is_whole(number) and abs(number) < 10**15 else str(float(number))


def _is_whole(number: Decimal) -> bool:
    return number == number.to_integral()


def _items(where: str, text: str) -> Iterator[tuple[str, bool]]:
    """Split at commas outside quotes, with whether each item was quoted."""
    rest = text.strip()
    while True:
        if rest[:1] in ("'", '"'):
            item, rest = _quoted(where, rest)
            yield item, True
        else:
            item, comma, rest = rest.partition(",")
            if not item.strip():
                raise InputError(f"{where}: a value is empty. An empty text is written as ''")
            yield item.strip(), False
            rest = comma + rest
        if not rest:
            return
        rest = rest[1:].lstrip()


def _quoted(where: str, text: str) -> tuple[str, str]:
    """Take the quoted item off the front; a doubled quote stands for one, as in CSV."""
    quote = text[0]
    found = re.match(rf"{quote}((?:[^{quote}]|{quote}{quote})*){quote}\s*(?=,|$)", text)
    if found is None:
        raise InputError(f"{where}: the quote before {text[1:]!r} is not closed, or more than a comma follows it")
    return found[1].replace(quote * 2, quote), text[found.end() :]
