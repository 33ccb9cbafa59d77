"""Snapshots of real repositories and plain folders."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from corral.errors import InputError
from corral.jobs.snapshot import Snapshot, take


def snap(folder: Path) -> Snapshot:
    return asyncio.run(take(folder))


def fill(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content of {name}\n")


def git(folder: Path, *args: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", "-C", str(folder), *who, *args], check=True, capture_output=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


@pytest.fixture
def repository(folder: Path) -> Path:
    fill(folder, "train.py", "src/model.py")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


def test_a_repository_is_its_files_as_they_are_now_without_what_git_ignores(repository: Path) -> None:
    fill(repository, "new.py", "data/big.bin", "src/x.pyc")
    (repository / ".gitignore").write_text("data/\n*.pyc\n")
    assert snap(repository).files == (".gitignore", "new.py", "src/model.py", "train.py")


def test_a_plain_folder_respects_gitignore_too(folder: Path) -> None:
    fill(folder, "train.py", "data/big.bin")
    (folder / ".gitignore").write_text("data/\n")
    assert snap(folder).files == (".gitignore", "train.py")


def test_a_folder_inside_a_repository_is_itself_alone(repository: Path) -> None:
    fill(repository, "src/new.py", "src/data/big.bin")
    (repository / ".gitignore").write_text("data/\n")
    assert snap(repository / "src").files == ("model.py", "new.py")


@pytest.mark.parametrize("where", [".", "src"])
def test_corralignore_leaves_out_files_that_git_knows_as_well(repository: Path, where: str) -> None:
    top = repository / where
    fill(top, "data/tracked.bin", "deep/data/kept.bin", "weights.pt", "sub/weights.pt", "keep.pt")
    git(repository, "add", ".")
    fill(top, "data/untracked.bin", "new/weights.pt")
    (top / ".corralignore").write_text("/data\n*.pt\n!keep.pt\n")
    found = snap(top).files
    assert "keep.pt" in found
    assert "deep/data/kept.bin" in found
    assert not [name for name in found if name.startswith("data/") or name.endswith("weights.pt")]


def test_corralignore_works_in_a_plain_folder(folder: Path) -> None:
    fill(folder, "train.py", "data/a", "data/b")
    (folder / ".corralignore").write_text("data/\n")
    assert snap(folder).files == (".corralignore", "train.py")


def test_nobody_sends_environments_and_caches_from_a_plain_folder(folder: Path) -> None:
    fill(folder, "train.py", ".venv/bin/python", "pkg/__pycache__/x.pyc", "node_modules/a.js", ".hg/store")
    assert snap(folder).files == ("train.py",)


def test_a_file_that_was_deleted_but_is_still_known_to_git_is_left_out(repository: Path) -> None:
    (repository / "train.py").unlink()
    assert snap(repository).files == ("src/model.py",)


def test_a_file_that_became_a_folder_is_that_folder(repository: Path) -> None:
    (repository / "train.py").unlink()
    fill(repository, "train.py/part.py")
    assert snap(repository).files == ("src/model.py", "train.py/part.py")


def test_a_folder_that_became_a_link_is_that_link(repository: Path, tmp_path: Path) -> None:
    fill(tmp_path, "elsewhere/model.py")
    (repository / "src/model.py").unlink()
    (repository / "src").rmdir()
    (repository / "src").symlink_to(tmp_path / "elsewhere")
    assert snap(repository).files == ("src", "train.py")


def test_a_repository_inside_belongs_to_it_without_what_it_ignores(repository: Path) -> None:
    inner = repository / "lib"
    fill(inner, "a.py", "deep/b.py", "data/big.bin")
    (inner / ".gitignore").write_text("data/\n")
    git(inner, "init", "-q")
    assert snap(repository).files == ("lib/.gitignore", "lib/a.py", "lib/deep/b.py", "src/model.py", "train.py")


def test_a_submodule_belongs_to_it_and_one_that_was_not_fetched_is_empty(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    fill(other, "lib.py")
    git(other, "init", "-q")
    git(other, "add", ".")
    git(other, "commit", "-qm", "lib")
    git(repository, "submodule", "add", "-q", str(other), "ext/lib")
    assert snap(repository).files == (".gitmodules", "ext/lib/lib.py", "src/model.py", "train.py")
    git(repository, "submodule", "deinit", "-q", "-f", "--all")
    assert snap(repository).files == (".gitmodules", "src/model.py", "train.py")


def test_more_names_than_fit_a_pipe_are_all_there(repository: Path) -> None:
    names = [f"{'x' * 200}-{number}" for number in range(400)]
    for name in names:
        (repository / name).touch()
    assert len(snap(repository).files) == len(names) + 2


def test_without_git_everything_is_sent_but_what_nobody_means(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(folder, "train.py", "src/model.py", ".git/config", ".venv/bin/python", "src/__pycache__/x.pyc")
    monkeypatch.setenv("PATH", "/nowhere")
    assert snap(folder).files == ("src/model.py", "train.py")


def test_without_git_a_corralignore_that_cannot_be_followed_is_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, "train.py", ".corralignore")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InputError, match=r"corralignore.*git"):
        snap(folder)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_cannot_be_read_is_named(folder: Path) -> None:
    fill(folder, "secret")
    (folder / "secret").chmod(0)
    with pytest.raises(InputError, match="secret"):
        snap(folder)
