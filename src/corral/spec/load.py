"""The cluster file from text to model. All its mistakes are reported at once, each with line and column."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from corral.errors import InputError, Mistake, SpecError
from corral.spec.document import KEY, Where, read_document
from corral.spec.explain import explain
from corral.spec.model import ClusterSpec
from corral.spec.rules import Broken, broken_rules
from corral.spec.sections import with_empty_sections


def load_cluster(path: Path) -> ClusterSpec:
    """Read the cluster file."""
    return parse_cluster(read_text(path), str(path))


def read_text(path: Path) -> str:
    """The cluster file's text, its line ends as they are."""
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file. Try: corral init") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        raise SpecError(str(path), [Mistake(line, column, "not UTF-8 text; save the file as UTF-8")]) from error


def parse_cluster(text: str, source: str) -> ClusterSpec:
    """Turn the text into a cluster, or raise one error with every mistake in it."""
    document = read_document(text)
    if document.mistakes:
        raise SpecError(source, sorted(document.mistakes))
    spec, broken = check_cluster(document.data)
    if broken or spec is None:
        mistakes = {document.mistake(where, message) for where, message in broken}
        raise SpecError(source, sorted(mistakes))
    return spec


def check_cluster(data: object) -> tuple[ClusterSpec | None, list[Broken]]:
    """The cluster that the data describes, None where a field is wrong, and everything that is wrong."""
    data = with_empty_sections(data)
    try:
        spec = ClusterSpec.model_validate(data)
    except ValidationError as error:
        wrong = explain(error, data)
        return None, wrong + _rules_for_the_rest(data, [_entry(where) for where, _ in wrong])
    return spec, broken_rules(spec)


def _rules_for_the_rest(data: object, wrong: list[Where]) -> list[Broken]:
    """The rules that are broken no matter how the wrong fields will be mended."""
    if any(_others_depend_on(where) for where in wrong):
        return []
    # Backwards, so that what is taken out of a list does not move what is still to be taken out.
    for where in reversed(wrong):
        data = _without(data, where)
    try:
        spec = ClusterSpec.model_validate(data)
    except ValidationError:
        return []
    return [(where, text) for where, text in broken_rules(spec) if not any(_related(where, w) for w in wrong)]


def _entry(where: Where) -> Where:
    return where[:-1] if where[-1:] == (KEY,) else where


def _others_depend_on(where: Where) -> bool:
    """Whole sections, and who the machines and partitions are: other places are judged by these."""
    by_name = where[:1] in (("machines",), ("partitions",))
    return len(where) <= 1 or (by_name and (len(where) == 2 or where[2] in ("roles", "machines")))


def _related(one: Where, other: Where) -> bool:
    shared = min(len(one), len(other))
    return one[:shared] == other[:shared]


def _without(data: object, where: Where) -> object:
    """The data less one entry, or less the section around it where the entry itself is missing."""
    part, rest = where[0], where[1:]
    if isinstance(data, list):
        return [item for index, item in enumerate(data) if index != part]
    if not isinstance(data, dict) or part not in data:
        return data
    inside = data[part]
    lacking = len(rest) == 1 and isinstance(inside, dict) and rest[0] not in inside
    if not rest or lacking:
        return {key: value for key, value in data.items() if key != part}
    return {**data, part: _without(inside, rest)}
