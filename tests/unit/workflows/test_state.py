"""Which cluster a command means."""

from __future__ import annotations

from pathlib import Path

import pytest

from corral.errors import InputError
from corral.workflows.state import ClusterState, find_cluster

FILE = "name: {name}\nmachines: {{node0: {{address: 192.0.2.1}}}}\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CORRAL_STATE", str(tmp_path / "state"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def remember(name: str) -> None:
    state = ClusterState(name)
    state.make()
    state.write(state.cluster_file, FILE.format(name=name).encode())


def test_a_file_is_meant_by_its_path(home: Path) -> None:
    (home / "other.yaml").write_text(FILE.format(name="other"))
    assert find_cluster("other.yaml").name == "other"


def test_the_file_in_this_folder_comes_before_a_local_cluster(home: Path) -> None:
    remember("local")
    (home / "cluster.yaml").write_text(FILE.format(name="lab"))
    assert find_cluster(None).name == "lab"
    assert find_cluster("local").name == "local"


@pytest.mark.usefixtures("home")
def test_the_only_local_cluster_needs_no_name() -> None:
    remember("local")
    assert find_cluster(None).name == "local"


@pytest.mark.usefixtures("home")
def test_of_several_local_clusters_one_must_be_chosen() -> None:
    remember("one")
    remember("two")
    with pytest.raises(InputError, match="--cluster: one, two"):
        find_cluster(None)


@pytest.mark.usefixtures("home")
def test_without_any_cluster_the_next_step_is_told() -> None:
    with pytest.raises(InputError, match="corral up --local 3"):
        find_cluster(None)
    with pytest.raises(InputError, match="there is no cluster 'lab'"):
        find_cluster("lab")


@pytest.mark.usefixtures("home")
def test_secrets_are_readable_by_their_owner_only() -> None:
    state = ClusterState("lab")
    state.keep_secret("munge.key", b"x")
    assert (state.folder / "munge.key").stat().st_mode & 0o777 == 0o600
    assert state.folder.stat().st_mode & 0o777 == 0o700
    assert state.secret("munge.key") == b"x"
