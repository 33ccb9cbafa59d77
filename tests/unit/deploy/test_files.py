"""The Files step against a real shell and a real folder."""

from __future__ import annotations

import asyncio
import grp
import os
import pwd
from pathlib import Path

from corral.deploy.resources.files import File, Files
from corral.deploy.step import Change
from corral.hosts.local import LocalHost

ME = f"{pwd.getpwuid(os.geteuid()).pw_name}:{grp.getgrgid(os.getegid()).gr_name}"


def look(step: Files) -> str:
    return asyncio.run(LocalHost().run(step.probe())).stdout


def act(change: Change) -> None:
    done = asyncio.run(LocalHost().run(change.script, stdin=change.stdin))
    assert done.ok, done


def apply(step: Files) -> None:
    change = step.diff(look(step))
    assert change is not None
    act(change)


def test_a_missing_file_is_created_with_its_folder_and_then_left_alone(tmp_path: Path) -> None:
    step = Files("conf", [File(f"{tmp_path}/etc/deep/a.conf", b"hello\n", owner=ME, mode=0o640)])
    apply(step)
    written = tmp_path / "etc/deep/a.conf"
    assert written.read_bytes() == b"hello\n"
    assert written.stat().st_mode & 0o777 == 0o640
    assert step.diff(look(step)) is None


def test_only_the_files_that_differ_are_written(tmp_path: Path) -> None:
    same, other = tmp_path / "same", tmp_path / "other"
    step = Files("two", [File(str(same), b"1\n", owner=ME), File(str(other), b"2\n", owner=ME)])
    apply(step)
    before = same.stat().st_ino
    other.write_text("edited by hand\n")
    change = step.diff(look(step))
    assert change is not None
    assert change.summary == f"rewrite {other}"
    assert "-edited by hand" in change.detail
    assert "+2" in change.detail
    act(change)
    assert other.read_text() == "2\n"
    assert same.stat().st_ino == before


def test_a_wrong_mode_is_corrected(tmp_path: Path) -> None:
    step = Files("conf", [File(f"{tmp_path}/a", b"x", owner=ME, mode=0o600)])
    apply(step)
    (tmp_path / "a").chmod(0o644)
    apply(step)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_a_file_that_must_not_be_there_is_removed(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("x")
    step = Files("clean", [File(f"{tmp_path}/new", b"y", owner=ME)], absent=(f"{tmp_path}/old",))
    apply(step)
    assert not (tmp_path / "old").exists()
    assert step.diff(look(step)) is None


def test_a_readers_open_file_never_changes_under_it(tmp_path: Path) -> None:
    step = Files("conf", [File(f"{tmp_path}/a", b"new content\n", owner=ME)])
    (tmp_path / "a").write_text("old content\n")
    with (tmp_path / "a").open() as reader:
        apply(step)
        assert reader.read() == "old content\n"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_binary_content_arrives_byte_for_byte(tmp_path: Path) -> None:
    content = bytes(range(256)) * 40
    apply(Files("key", [File(f"{tmp_path}/key", content, owner=ME, mode=0o400, secret=True)]))
    assert (tmp_path / "key").read_bytes() == content


def test_a_secret_shows_nowhere_but_in_the_payload(tmp_path: Path) -> None:
    secret = File(f"{tmp_path}/key", b"top-secret-value", owner=ME, mode=0o400, secret=True)
    (tmp_path / "key").write_text("another-secret")
    step = Files("key", [secret])
    seen = look(step)
    change = step.diff(seen)
    assert change is not None
    shown = seen + repr(step) + repr(change) + change.summary + change.detail + change.script
    assert "top-secret-value" not in shown
    assert "another-secret" not in shown
