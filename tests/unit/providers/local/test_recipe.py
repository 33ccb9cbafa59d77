from __future__ import annotations

import pytest

from corral.providers.local import recipe
from corral.providers.local.recipe import Recipe


def test_only_pods_get_supervisor() -> None:
    assert "supervisor" not in Recipe("trixie", "systemd").packages
    assert "supervisor" in Recipe("trixie", "none").packages


def test_a_changed_recipe_is_another_image(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {Recipe("trixie", "systemd").name, Recipe("trixie", "none").name}
    monkeypatch.setattr(recipe, "_SETUP", "true")
    after = {Recipe("trixie", "systemd").name, Recipe("trixie", "none").name}
    assert len(before | after) == 4


def test_an_expired_release_file_is_accepted_only_of_the_release_in_the_making() -> None:
    options = {release: Recipe(release, "systemd").apt_options for release in ("bookworm", "trixie", "forky")}
    assert [release for release, chosen in options.items() if "Valid-Until" in str(chosen)] == ["forky"]


def test_a_bare_machine_has_ssh_and_nothing_of_slurm() -> None:
    bare = Recipe("trixie", "systemd", "bare")
    assert {"openssh-server", "sudo"} <= set(bare.packages)
    assert not [name for name in bare.packages if name.startswith(("slurm", "munge", "mariadb", "python"))]
    assert "slurmctld" not in bare.setup
    assert bare.name.startswith("trixie-bare-")
