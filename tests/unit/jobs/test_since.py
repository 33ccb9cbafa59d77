"""How far back to look."""

from __future__ import annotations

import time

import pytest

from corral.errors import InputError
from corral.jobs.since import parse_since

NOW = 1794741060


def test_a_length_of_time_counts_from_now() -> None:
    assert [NOW - parse_since(text, NOW) for text in ("90m", "12h", "2d", "1w")] == [5400, 43200, 172800, 604800]


def test_a_date_is_its_first_moment_here() -> None:
    assert time.localtime(parse_since("2026-11-01", NOW))[:5] == (2026, 11, 1, 0, 0)
    assert time.localtime(parse_since("2026-11-01T13:30", NOW))[:5] == (2026, 11, 1, 13, 30)
    assert time.localtime(parse_since("yesterday", NOW))[3:5] == (0, 0)


@pytest.mark.parametrize("text", ["", "2", "d", "2026-13-01", "a week"])
def test_anything_else_is_an_error_that_says_what_may_be_written(text: str) -> None:
    with pytest.raises(InputError, match="2026-11-01"):
        parse_since(text, NOW)
