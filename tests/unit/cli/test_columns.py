"""Columns of text."""

from __future__ import annotations

from corral.cli.columns import RED, RESET, columns


def test_columns_line_up_and_nothing_is_cut_without_a_width() -> None:
    assert columns(["JOB", "NAME"], [["1", "a long name"], ["1000", "b"]], width=None) == [
        "JOB   NAME",
        "1     a long name",
        "1000  b",
    ]


def test_what_gives_way_is_cut_until_the_line_fits() -> None:
    lines = columns(["JOB", "NAME", "WHY"], [["12", "x" * 30, "y" * 30]], width=40, gives_way=("WHY", "NAME"))
    assert lines[1] == f"12   {'x' * 16}…  {'y' * 15}…"
    assert len(lines[1]) == 40
    assert (
        max(
            map(len, columns(["JOB", "NAME", "WHY"], [["12", "x" * 30, "y" * 30]], width=25, gives_way=("WHY", "NAME")))
        )
        == 25
    )


def test_wide_letters_and_control_characters_do_not_break_the_columns() -> None:
    lines = columns(["NAME", "JOB"], [["実験", "1"], ["a\x1b[31m\nb", "2"]], width=None)
    assert lines[1:] == ["実験      1", "a?[31m?b  2"]


def test_cells_are_painted_by_their_first_word() -> None:
    lines = columns(["STATE"], [["failed twice"]], width=80, colors={0: {"failed": RED}})
    assert lines[1] == f"{RED}failed twice{RESET}"
