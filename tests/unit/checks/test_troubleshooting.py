"""The troubleshooting page says what the doctor says."""

from __future__ import annotations

from pathlib import Path

from corral.checks.catalogue import KINDS
from corral.checks.troubleshooting import page

PAGE = Path(__file__).parents[3] / "docs" / "troubleshooting.md"


def test_the_page_is_up_to_date_or_else_make_docs() -> None:
    assert PAGE.read_text() == page()


def test_every_kind_has_a_name_and_a_title_of_its_own() -> None:
    assert len({kind.name for kind in KINDS}) == len({kind.title for kind in KINDS}) == len(KINDS)
