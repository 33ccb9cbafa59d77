"""Recommendations: the right mode for the link, in words that a person understands."""

from __future__ import annotations

from dataclasses import replace

import pytest

from corral.advice.case import Case, given_link
from corral.advice.models import shapes_of
from corral.advice.quantities import link_rate
from corral.advice.words import best_mode, recommend
from corral.inside.cost import DDP, Link, Mode, Work, scaled

GPT2 = Work(step_s=0.18, shapes=shapes_of("gpt2-124m"), batch=8)


def case(rate: str, work: Work = GPT2, nodes: int = 3) -> Case:
    link, source = given_link(link_rate(rate), rate)
    return Case(link, source, work, "given", nodes)


def test_three_workstations_on_2_5_gigabit_are_told_to_take_local_steps() -> None:
    found = recommend(case("2.5gbit"))
    assert found.best is not None
    assert found.best.mode.name == "local"
    assert found.words[0].startswith("For one training: use local steps with H=50: 2.9× on three nodes.")
    assert "run three independent experiments, one per node: always 3×" in found.words[1]


def test_what_changes_the_optimisation_is_said_to_do_so() -> None:
    assert "another optimisation" in recommend(case("2.5gbit")).words[0]
    assert "optimisation" not in recommend(case("400gbit")).words[0]


def test_ddp_is_preferred_wherever_it_pays() -> None:
    found = recommend(case("400gbit"))
    assert found.best is not None
    assert found.best.mode == DDP
    assert found.words[0].startswith("For one training: use DDP with lanes: ")


def test_gradients_of_half_the_size_are_preferred_to_local_steps_where_they_suffice() -> None:
    best = best_mode(case("25gbit", nodes=2))
    assert best is not None
    assert best.mode.name == "bf16"


def test_where_nothing_pays_independent_experiments_come_first() -> None:
    found = recommend(case("100kbit"))
    assert found.best is None
    assert found.words[0].startswith("Run three independent experiments")
    assert "No mode makes one training pay on three nodes" in found.words[1]


def test_ddp_pays_from_the_batch_that_is_named_and_not_from_one_that_is_smaller() -> None:
    asked = case("2.5gbit")
    batch = recommend(asked).pays.batch
    assert batch is not None

    def efficiency(samples: int) -> float:
        return replace(asked, work=scaled(GPT2, samples / GPT2.batch)).predict(DDP).efficiency

    assert efficiency(batch) >= asked.target > efficiency(batch - 1)
    assert f"from batch {batch} per node" in recommend(asked).words[2]


def test_ddp_pays_with_as_many_steps_added_up_as_are_named_and_not_with_one_less() -> None:
    asked = case("2.5gbit")
    steps = recommend(asked).pays.accumulate
    assert steps is not None
    enough, less = (asked.predict(Mode("ddp", accumulate=k)).efficiency for k in (steps, steps - 1))
    assert enough >= asked.target > less


def test_a_link_that_carries_nothing_never_makes_ddp_pay() -> None:
    found = recommend(Case(Link(0), "measured", GPT2, "given", 3))
    assert found.pays.batch is None
    assert found.pays.accumulate is None
    assert "never reaches 80%" in found.words[-1]


@pytest.mark.parametrize(("nodes", "words"), [(2, "two nodes"), (12, "12 nodes")])
def test_numbers_of_nodes_are_written_as_people_write_them(nodes: int, words: str) -> None:
    assert words in recommend(case("2.5gbit", nodes=nodes)).words[0]
