"""YAML text as plain data, with the line and column of every key and value.

Only null, true, false and whole numbers have a meaning of their own; all else is text exactly as written.
YAML 1.1 would read a machine called `no` as false, 12:30:00 as 45000 and 010 as 8.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import yaml

from corral.errors import Mistake

Where = tuple[str | int, ...]
"""The keys and list positions that lead to a place in the file."""

KEY = "[key]"
"""Last part of a `Where` that means the key itself, not its value; pydantic spells it so, too."""

_WHOLE_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_PREFIX = "tag:yaml.org,2002:"
_KINDS = ("map", "seq", "str", "int", "bool", "null")


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = {}  # noqa: RUF012 (the library's own way to say it)


_Loader.add_implicit_resolver(f"{_PREFIX}null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""])
_Loader.add_implicit_resolver(f"{_PREFIX}bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
_Loader.add_implicit_resolver(f"{_PREFIX}int", re.compile(f"^{_WHOLE_NUMBER.pattern}$"), list("-0123456789"))


@dataclass(frozen=True, slots=True)
class Document:
    """A file's content, where each part of it stands, and what is wrong with it as YAML."""

    data: object = None
    keys: dict[Where, yaml.Mark] = field(default_factory=dict)
    values: dict[Where, yaml.Mark] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)

    def mistake(self, where: Where, message: str) -> Mistake:
        """Point at the key or value, or at the nearest section around it where the file does not have it."""
        marks = self.values
        if where[-1:] == (KEY,):
            marks, where = self.keys, where[:-1]
        while where and where not in marks:
            where = where[:-1]
        return _at(marks[where] if where else self.values[()], message)


def compose(text: str) -> yaml.Node | None:
    """The text's own tree, every node with its place in the text."""
    root: yaml.Node | None = yaml.compose(text, Loader=_Loader)
    return root


def read_document(text: str) -> Document:
    """Read the text; whatever is wrong with it is in the result's mistakes."""
    try:
        root = compose(text)
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        column = error.position - (before.rfind("\n") + 1)
        place = Mistake(before.count("\n") + 1, column + 1, "not valid YAML: a control character")
        return Document(mistakes=[place])
    except yaml.MarkedYAMLError as error:
        return Document(mistakes=[_syntax_mistake(error)])
    except RecursionError:
        return Document(mistakes=[Mistake(1, 1, "nested too deeply")])
    if root is None:
        return Document(mistakes=[Mistake(1, 1, "the file is empty; it needs at least name and machines")])
    reader = _Reader()
    data = reader.read(root, ())
    return Document(data, reader.keys, reader.values, reader.mistakes)


def _syntax_mistake(error: yaml.MarkedYAMLError) -> Mistake:
    # The library's own text quotes the line, which may hold a pasted secret: keep to what it found.
    problem = error.problem or "cannot be read"
    if "'\\t'" in problem:
        problem += "; indent with spaces"
    elif "another document" in problem:
        problem = "only one document is allowed"
    mark = error.problem_mark or error.context_mark
    return _at(mark, f"not valid YAML: {problem}") if mark else Mistake(1, 1, f"not valid YAML: {problem}")


def _at(mark: yaml.Mark, message: str) -> Mistake:
    return Mistake(mark.line + 1, mark.column + 1, message)


class _Reader:
    """Turns nodes into data and remembers where each one stands."""

    def __init__(self) -> None:
        self.keys: dict[Where, yaml.Mark] = {}
        self.values: dict[Where, yaml.Mark] = {}
        self.mistakes: list[Mistake] = []
        self._open: list[yaml.Node] = []

    def read(self, node: yaml.Node, where: Where) -> object:
        # Only text is pointed at itself: a section, a list or nothing at all may start on another line.
        is_text = isinstance(node, yaml.ScalarNode) and node.value
        self.values[where] = node.start_mark if is_text else self.keys.get(where, node.start_mark)
        if any(node is parent for parent in self._open):
            self.mistakes.append(_at(self.keys.get(where, node.start_mark), "an alias contains itself"))
            return None
        self._open.append(node)
        try:
            if node.tag.removeprefix(_PREFIX) not in _KINDS:
                self.mistakes.append(_at(node.start_mark, "a YAML tag has no meaning here; remove it"))
            if isinstance(node, yaml.ScalarNode):
                return _plain(node)
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, where)
            return [self.read(item, (*where, index)) for index, item in enumerate(node.value)]
        finally:
            self._open.pop()

    def _mapping(self, node: yaml.MappingNode, where: Where) -> dict[str, object]:
        result: dict[str, object] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self.mistakes.append(_at(key_node.start_mark, "a key must be text"))
                continue
            key = str(key_node.value)
            place = (*where, key)
            if key in result:
                first = self.keys[place].line + 1
                self.mistakes.append(_at(key_node.start_mark, f"the key '{key}' is already on line {first}"))
                continue
            self.keys[place] = key_node.start_mark
            result[key] = self.read(value_node, place)
        return result


def _plain(node: yaml.ScalarNode) -> str | int | None:
    text = str(node.value)
    kind = node.tag.removeprefix(_PREFIX)
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    if kind == "int" and _WHOLE_NUMBER.fullmatch(text):
        return int(text)
    return text
