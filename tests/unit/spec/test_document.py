from __future__ import annotations

import pytest

from corral.errors import Mistake
from corral.spec.document import KEY, read_document


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("on", "on"),
        ("no", "no"),
        ("yes", "yes"),
        ("12:30:00", "12:30:00"),
        ("1-00:00:00", "1-00:00:00"),
        ("010", "010"),
        ("0x10", "0x10"),
        ("1_000", "1_000"),
        ("1.50", "1.50"),
        ("1e3", "1e3"),
        (".inf", ".inf"),
        ("2026-01-31", "2026-01-31"),
        ("=", "="),
        ("'22'", "22"),
        ("'true'", "true"),
        ("!!int x", "x"),
        ("9" * 5000, "9" * 5000),
        ("22", 22),
        ("-1", -1),
        ("0", 0),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("", None),
    ],
)
def test_a_value_means_what_it_looks_like(written: str, read: object) -> None:
    document = read_document(f"key: {written}\n")
    assert document.mistakes == []
    assert document.data == {"key": read}


def test_a_key_is_always_text() -> None:
    assert read_document("no: a\n1: b\n~: c\n").data == {"no": "a", "1": "b", "~": "c"}


def test_an_anchor_can_be_used_twice() -> None:
    assert read_document("a: &x {b: 1}\nc: *x\n").data == {"a": {"b": 1}, "c": {"b": 1}}


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", 1, 1, "the file is empty; it needs at least name and machines"),
        ("# nothing\n", 1, 1, "the file is empty; it needs at least name and machines"),
        ("a: 1\nb: 2\na: 3\n", 3, 1, "the key 'a' is already on line 1"),
        ("a: &x [*x]\n", 1, 4, "an alias contains itself"),
        ("a: &x\n  b: *x\n", 2, 3, "an alias contains itself"),
        ("a: !secret b\n", 1, 4, "a YAML tag has no meaning here; remove it"),
        ("a: !!python/name:os.system {}\n", 1, 4, "a YAML tag has no meaning here; remove it"),
        ("? [a]\n: b\n", 1, 3, "a key must be text"),
        ("a: b\n---\nc: d\n", 2, 1, "not valid YAML: only one document is allowed"),
        ("a: *b\n", 1, 4, "not valid YAML: found undefined alias 'b'"),
        ("a: b: c\n", 1, 5, "not valid YAML: mapping values are not allowed here"),
        ("a: 1\nb: x\0y\n", 2, 5, "not valid YAML: a control character"),
        ("[" * 5000, 1, 1, "nested too deeply"),
        (
            "a:\n\t- b\n",
            2,
            1,
            "not valid YAML: found character '\\t' that cannot start any token; indent with spaces",
        ),
    ],
)
def test_what_is_not_clean_yaml_is_a_mistake_with_its_place(text: str, line: int, column: int, message: str) -> None:
    assert read_document(text).mistakes == [Mistake(line, column, message)]


def test_a_mistake_points_at_text_itself_and_at_the_key_of_everything_else() -> None:
    document = read_document("a:\n  b: text\n  c:\n    - item\n  d:\n")
    places = {
        ("a",): (1, 1),
        ("a", "b"): (2, 6),
        ("a", "b", KEY): (2, 3),
        ("a", "c"): (3, 3),
        ("a", "c", 0): (4, 7),
        ("a", "d"): (5, 3),
        ("a", "not there"): (1, 1),
        ("not there",): (1, 1),
        (): (1, 1),
    }
    for where, (line, column) in places.items():
        assert document.mistake(where, "wrong") == Mistake(line, column, "wrong")
