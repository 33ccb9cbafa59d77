"""What is written into a shared folder, and read from it."""

from __future__ import annotations

from pathlib import Path

from corral.gauges.share import read, write


def test_what_everybody_wrote_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "check"
    assert [write(folder, node) for node in ("a", "b")] == ["", ""]
    assert read(folder, ["a", "b"]) == {}


def test_what_is_missing_or_another_s_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "check"
    write(folder, "a")
    (folder / "b").write_text("something else")
    assert read(folder, ["a", "b", "c"], patience_s=0) == {
        "b": "its content is another",
        "c": "No such file or directory",
    }


def test_a_folder_whose_mount_is_away_is_not_made_up(tmp_path: Path) -> None:
    assert write(tmp_path / "jobs" / "check", "a") == "No such file or directory"
