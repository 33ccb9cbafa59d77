"""One machine more or less in a cluster file, by the smallest edit of its text: comments and layout stay.

An edit counts only when the new text reads as the old cluster with exactly that difference. Where the file is
written in a way that does not allow it, nothing is changed, and the error says what to write by hand.
"""

from __future__ import annotations

from collections.abc import Mapping

import yaml

from corral.errors import InputError, SpecError
from corral.spec.document import compose
from corral.spec.load import parse_cluster
from corral.spec.model import ClusterSpec

_WIDTH = 100_000


def with_machine(text: str, source: str, name: str, keys: Mapping[str, str | int]) -> str:
    """The file's text with one machine more, after the others."""
    before = parse_cluster(text, source)
    entry = f"{name}: {_in_flow_style(keys)}"
    section = _machines(text)
    key, value = section.value[-1]
    if section.flow_style:
        at = _end(value)
        new = f"{text[:at]}, {entry}{text[at:]}"
    else:
        newline = "\r\n" if "\r\n" in text else "\n"
        at = text.find("\n", _end(value)) + 1
        lead = text[:at] if at else text + newline
        new = f"{lead}{' ' * key.start_mark.column}{entry}{newline}{text[at:] if at else ''}"
    after = _parsed(new, source, advice := f"add to its machines:\n  {entry}")
    if list(after.machines) != [*before.machines, name] or _without(after, name) != before:
        raise _refusal(source, advice)
    return new


def without_machine(text: str, source: str, name: str) -> str:
    """The file's text without one of its machines."""
    before = parse_cluster(text, source)
    section = _machines(text)
    pairs = section.value
    index = next(number for number, (key, _) in enumerate(pairs) if key.value == name)
    key, value = pairs[index]
    if not section.flow_style:
        start = text.rfind("\n", 0, key.start_mark.index) + 1
        end = text.find("\n", _end(value)) + 1 or len(text)
    elif index > 0:
        start, end = _end(pairs[index - 1][1]), _end(value)
    else:
        start, end = key.start_mark.index, pairs[1][0].start_mark.index if len(pairs) > 1 else _end(value)
    new = text[:start] + text[end:]
    after = _parsed(new, source, advice := f"take {name} out of it")
    if list(after.machines) != [other for other in before.machines if other != name] or after != _without(before, name):
        raise _refusal(source, advice)
    return new


def _machines(text: str) -> yaml.MappingNode:
    root = compose(text)
    assert isinstance(root, yaml.MappingNode)
    section = next(value for key, value in root.value if key.value == "machines")
    assert isinstance(section, yaml.MappingNode)
    return section


def _end(node: yaml.Node) -> int:
    """Where the text of a value ends: a block's own mark lies behind the comments that follow it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _in_flow_style(keys: Mapping[str, str | int]) -> str:
    return yaml.safe_dump(
        dict(keys), default_flow_style=True, sort_keys=False, width=_WIDTH, allow_unicode=True
    ).strip()


def _without(spec: ClusterSpec, name: str) -> ClusterSpec:
    rest = {other: machine for other, machine in spec.machines.items() if other != name}
    return spec.model_copy(update={"machines": rest})


def _parsed(text: str, source: str, by_hand: str) -> ClusterSpec:
    try:
        return parse_cluster(text, source)
    except SpecError as error:
        mistakes = "; ".join(mistake.message for mistake in error.mistakes)
        raise InputError(
            f"{source} is left as it is, for the change would break it: {mistakes}. {_advice(source, by_hand)}"
        ) from error


def _refusal(source: str, by_hand: str) -> InputError:
    return InputError(f"{source} is left as it is: its layout does not allow a safe edit. {_advice(source, by_hand)}")


def _advice(source: str, by_hand: str) -> str:
    return f"Edit {source} by hand ({by_hand}), then run: corral up"
