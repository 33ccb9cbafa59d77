from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import pytest

from corral.errors import ProviderError
from corral.providers.local.control import GuestPlan, Plan
from corral.providers.local.python_view import PythonView
from corral.providers.local.store import Store


def plan(guests: tuple[GuestPlan, ...]) -> Plan:
    return Plan(
        guests=guests,
        image=Path("/images/trixie-1"),
        init="systemd",
        gpus=1,
        gpu_type="rtx5090",
        link=None,
        authorized_key="ssh-ed25519 AAAA",
        python=PythonView(binds=(), borrowed=None),
    )


def test_a_machine_keeps_its_index_and_a_new_one_takes_no_index_that_is_known(tmp_path: Path) -> None:
    store = Store(tmp_path / "local")
    first = asyncio.run(store.prepare(["a", "b"]))
    store.save(plan(first))
    assert [(guest.name, guest.index) for guest in first] == [("a", 0), ("b", 1)]
    second = asyncio.run(store.prepare(["c", "b"]))
    assert [(guest.name, guest.index) for guest in second] == [("c", 2), ("b", 1)]


def test_private_keys_are_for_the_owner_and_made_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "local")
    guest = asyncio.run(store.prepare(["a"]))[0]
    key, pinned = store.identity_file.read_bytes(), store.host_key(guest)
    asyncio.run(store.prepare(["a"]))
    assert (store.identity_file.read_bytes(), store.host_key(guest)) == (key, pinned)
    assert stat.S_IMODE(store.identity_file.stat().st_mode) == 0o600
    assert pinned.startswith("ssh-ed25519 ")


def test_half_a_key_pair_of_an_interrupted_run_is_made_again(tmp_path: Path) -> None:
    store = Store(tmp_path / "local")
    asyncio.run(store.prepare(["a"]))
    store.identity_file.unlink()
    asyncio.run(store.prepare(["a"]))
    assert store.identity_file.exists()


def test_deleting_spares_what_is_not_ours(tmp_path: Path) -> None:
    store = Store(tmp_path / "local")
    store.save(plan(asyncio.run(store.prepare(["a"]))))
    (store.directory / "thesis.tex").touch()
    store.delete()
    assert [path.name for path in store.directory.iterdir()] == ["thesis.tex"]
    (store.directory / "thesis.tex").unlink()
    store.delete()
    assert not store.directory.exists()


def test_the_plan_of_another_version_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text('{"machines": 3}')
    with pytest.raises(ProviderError, match="corral down"):
        Store(tmp_path).plan()
