"""Ranks that are kept together, as real processes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.unit.train.ranks import run_ranks

_HERE = Path(__file__).parent
_MODES = ("plain", "ddp", "bf16", "powersgd", "local", "local, 8 bits", "local, 4 bits")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("train")


@pytest.fixture(scope="module")
def three(folder: Path) -> list[dict[str, Any]]:
    """What three ranks found."""
    return run_ranks(3, _HERE / "three.py", str(folder))[0]


def test_lanes_sum_as_one_group_does(three: list[dict[str, Any]]) -> None:
    assert all(rank["lanes"] for rank in three)


def test_ranks_know_whether_they_have_the_same_parameters(three: list[dict[str, Any]]) -> None:
    assert all(rank["agree"] == [True, False] for rank in three)


def test_ranks_with_different_parameters_begin_with_the_first_ones(three: list[dict[str, Any]]) -> None:
    assert all(rank["begins alike"] == {"plain": True, "ddp": True, "local": True} for rank in three)


def test_an_all_reduce_goes_on_while_nobody_waits_for_it(three: list[dict[str, Any]]) -> None:
    assert all(rank["unattended"] for rank in three)


@pytest.mark.parametrize("bits", ["8", "4"])
def test_a_packed_mean_is_off_by_a_step_at_most_and_makes_up_for_it_later(
    three: list[dict[str, Any]], bits: str
) -> None:
    for rank in three:
        # Half a step when own numbers are packed, half a step when their mean is.
        assert 0.1 < rank["packed"][bits]["one"] <= 1.001
        # Of twenty means only what has not been sent yet is missing, not twenty times as much.
        assert rank["packed"][bits]["twenty"] <= 1.3


def test_mode_local_is_diloco(three: list[dict[str, Any]]) -> None:
    assert all(rank["far from diloco"] < 1e-12 for rank in three)


@pytest.mark.parametrize("mode", _MODES)
def test_a_training_that_was_stopped_continues_to_the_last_bit_in_every_mode(
    three: list[dict[str, Any]], mode: str
) -> None:
    assert all(rank["exact"][mode] for rank in three)


@pytest.mark.parametrize("ranks", [2, 1])
def test_mode_local_continues_on_fewer_ranks_from_what_all_had_shared(
    three: list[dict[str, Any]], folder: Path, tmp_path: Path, ranks: int
) -> None:
    shutil.copytree(folder / "local/job", tmp_path / "job")
    found, said = run_ranks(ranks, _HERE / "fewer.py", str(tmp_path / "job"))
    assert f"now on {ranks} ranks instead of 3" in said
    assert "all begin with the parameters that they shared" in said
    assert all(rank["shared"] and rank["steps"] == 10 for rank in found)
    assert len({tuple(rank["end"]) for rank in found}) == 1


@pytest.mark.parametrize("mode", ["ddp", "local"])
def test_a_script_that_ends_without_a_word_has_not_failed(mode: str) -> None:
    run_ranks(2, _HERE / "unclosed.py", mode)
