from __future__ import annotations

import platform
import sys
import sysconfig
from pathlib import Path

import pytest

import corral
from corral.providers.local.python_view import this_python


@pytest.fixture
def sources() -> Path:
    return Path(corral.__file__).resolve().parent.parent


def test_an_environment_in_a_home_is_bound_where_it_is(monkeypatch: pytest.MonkeyPatch, sources: Path) -> None:
    monkeypatch.setattr(sys, "prefix", "/home/ada/env")
    monkeypatch.setattr(sys, "base_prefix", "/home/ada/python")
    view = this_python()
    assert [there for _, there in view.binds] == [Path("/home/ada/env"), Path("/home/ada/python"), sources]
    assert all(here == there for here, there in view.binds)
    assert view.borrowed is None


def test_the_distributions_python_is_borrowed_under_all_its_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sources: Path
) -> None:
    if platform.machine() not in ("x86_64", "aarch64"):
        pytest.skip("no loader is known for this processor")
    (tmp_path / "env/bin").mkdir(parents=True)
    (tmp_path / "env/bin/python").symlink_to("/usr/bin/env")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "env/bin/python"))
    monkeypatch.setattr(sysconfig, "get_path", lambda _: "/usr/lib/python3.99")
    view = this_python()
    assert view.borrowed is not None
    assert view.borrowed.interpreters == (Path("/usr/bin/env"),)
    assert view.borrowed.environment == (tmp_path / "env/bin/python",)
    assert '--argv0 "$0"' in view.borrowed.program
    assert [there for _, there in view.borrowed.binds] == [Path("/run/corral-host/usr"), Path("/usr/lib/python3.99")]
    assert [there for _, there in view.binds] == [tmp_path / "env", sources]
