"""What a snapshot is named by, what is sent, and how much."""

from __future__ import annotations

import asyncio
import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from corral.errors import InputError
from corral.jobs import snapshot
from corral.jobs.snapshot import Snapshot, take

UNUSUAL = (
    "a b",
    "it's",
    '"q"',
    "-rf",
    "--",
    "two\nlines",
    "tab\t",
    "ü→😀",
    "$(id)",
    "*",
    "\\",
    "~",
    "x" * 200 + "/" + "y" * 200,
)
NO_UTF8 = os.fsdecode(b"caf\xe9")


def snap(folder: Path) -> Snapshot:
    return asyncio.run(take(folder))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    (made / "sub").mkdir(parents=True)
    (made / "train.py").write_text("print('hi')\n")
    (made / "sub/run.sh").write_text("true\n")
    (made / "sub/run.sh").chmod(0o755)
    (made / "link").symlink_to("sub/run.sh")
    (made / "folder link").symlink_to("sub")
    (made / "dangling").symlink_to("/nowhere/at/all")
    return made


def unpacked(found: Snapshot, into: Path) -> Path:
    into.mkdir()
    subprocess.run(["tar", "-xz", "-C", str(into)], input=found.packed(), check=True)
    return into


def described(folder: Path) -> dict[str, tuple[str, bytes]]:
    found = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = ("link", os.fsencode(path.readlink()))
        elif path.is_file():
            found[name] = ("run" if path.stat().st_mode & 0o100 else "file", path.read_bytes())
    return found


def test_the_same_content_has_the_same_name_wherever_and_whenever_it_is(folder: Path, tmp_path: Path) -> None:
    subprocess.run(["cp", "-r", str(folder), str(tmp_path / "again")], check=True)
    os.utime(folder / "train.py", (1, 1))
    (folder / "sub/run.sh").chmod(0o700)
    first, second = snap(folder), snap(tmp_path / "again")
    assert first.digest == second.digest
    assert first.packed() == second.packed()


def test_every_change_that_a_job_could_notice_gives_another_name(folder: Path) -> None:
    seen = [snap(folder).digest]
    for change in (
        "echo 'print(1)' > train.py",
        "chmod +x train.py",
        "mv sub/run.sh sub/go.sh",
        "touch new",
        "ln -sfn train.py link",
        "rm link; printf train.py > link",
    ):
        subprocess.run(["sh", "-c", change], cwd=folder, check=True)
        seen.append(snap(folder).digest)
    assert len(set(seen)) == len(seen)


def test_what_is_sent_is_the_same_tree(folder: Path, tmp_path: Path) -> None:
    assert described(unpacked(snap(folder), tmp_path / "out")) == described(folder)


@pytest.mark.parametrize("with_git", [True, False])
def test_unusual_names_arrive_as_they_are(folder: Path, tmp_path: Path, with_git: bool) -> None:
    for name in (*UNUSUAL, NO_UTF8):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name, errors="surrogateescape")
    with pytest.MonkeyPatch.context() as patch:
        if not with_git:
            patch.setenv("PATH", "/nowhere")
        found = snap(folder)
    assert {*UNUSUAL, NO_UTF8} <= set(found.files)
    assert described(unpacked(found, tmp_path / "out")) == described(folder)


def test_nothing_of_the_sender_is_in_the_archive(folder: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(snap(folder).packed())) as archive:
        for entry in archive:
            assert (entry.uid, entry.gid, entry.uname, entry.gname, entry.mtime) == (0, 0, "", "", 0)


def test_an_empty_folder_is_a_snapshot_too(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    found = snap(tmp_path / "empty")
    assert (found.files, found.size_bytes) == ((), 0)
    assert described(unpacked(found, tmp_path / "out")) == {}


def test_too_many_bytes_are_one_error_that_names_the_biggest_parts(folder: Path) -> None:
    (folder / "data").mkdir()
    with (folder / "data/huge").open("wb") as sparse:
        sparse.truncate(300 * 1024**2)
    (folder / "weights.pt").write_bytes(bytes(2 * 1024**2))
    with pytest.raises(InputError) as refused:
        snap(folder)
    said = str(refused.value)
    assert "302 MiB, most of it in data (300 MiB), weights.pt (2 MiB)" in said
    assert ".corralignore" in said
    assert "--no-folder" in said


def test_too_many_files_are_refused_as_well(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "_MOST_FILES", 3)
    with pytest.raises(InputError, match="too much to send with a job: 5 files"):
        snap(folder)
