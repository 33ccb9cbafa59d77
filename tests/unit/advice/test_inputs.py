"""What somebody gave becomes a training step, or one clear error."""

from __future__ import annotations

import pytest

from corral.advice.inputs import Given, work_of
from corral.advice.models import MODELS, shapes_of
from corral.advice.quantities import count, link_rate, rate_words, time_words
from corral.errors import InputError
from corral.inside.cost import Work


def test_step_time_and_size_are_enough() -> None:
    found = work_of(Given(step_ms=180, params="124m", batch=8))
    assert (found.work.step_s, found.work.gradient_bytes, found.work.batch) == (0.18, 4 * 124_000_000, 8)
    assert found.source == "given"


def test_a_model_s_name_gives_its_matrices() -> None:
    assert work_of(Given(step_ms=180, model="gpt2-124m")).work.shapes[0] == (50257, 768)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (Given(), "what is trained?"),
        (Given(model="gpt2-124m"), "how long does a step take"),
        (Given(step_ms=180), "how large is the model?"),
        (Given(step_ms=180, params="124m", model="gpt2-124m"), "not both"),
        (Given(step_ms=180, params="many"), "'many' is no number of parameters"),
        (Given(step_ms=180, model="gpt5"), "there is no model 'gpt5'; there are gpt-1m"),
        (Given(step_ms=180, model="gpt2-124m", gpu="h200"), "give one of them"),
        (Given(gpu="h200"), "which model on h200?"),
        (Given(gpu="abacus", model="gpt2-124m"), "gpt2-124m was not measured on 'abacus'"),
    ],
    ids=str,
)
def test_what_is_missing_or_wrong_is_named(given: Given, words: str) -> None:
    with pytest.raises(InputError) as caught:
        work_of(given)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "parameters"), [("gpt2-124m", 124_439_808), ("gpt2-350m", 354_823_168), ("resnet50", 25_557_032)]
)
def test_models_have_as_many_parameters_as_the_originals(name: str, parameters: int) -> None:
    assert Work(1, shapes=shapes_of(name)).gradient_bytes == 4 * parameters


@pytest.mark.parametrize("name", MODELS)
def test_models_are_those_that_the_benchmark_trains(name: str) -> None:
    torch = pytest.importorskip("torch")
    from corral.gauges.models import build

    with torch.device("meta"):
        assert tuple(tuple(one.shape) for one in build(name).parameters()) == shapes_of(name)


@pytest.mark.parametrize(
    ("text", "rate"), [("2.5gbit", 2.5e9), ("100mbit", 1e8), ("10 Gbit/s", 1e10), ("56kbit", 56e3)]
)
def test_rates_are_read_as_people_write_them(text: str, rate: float) -> None:
    assert link_rate(text) == pytest.approx(rate)


@pytest.mark.parametrize("text", ["fast", "2.5", "0gbit", "-1gbit", "2.5GB"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no link rate"):
        link_rate(text)


def test_counts_are_read_as_people_write_them() -> None:
    assert [count(text) for text in ("124m", "1.3B", "25557032", "7k")] == [
        124_000_000, 1_300_000_000, 25_557_032, 7000,
    ]  # fmt: skip


def test_numbers_are_shown_with_their_unit() -> None:
    assert [rate_words(rate) for rate in (2.35e9, 9.4e7)] == ["2.35 Gbit/s", "94 Mbit/s"]
    assert [time_words(time) for time in (0.18, 0.9999, 59.5, float("inf"))] == ["180 ms", "1 s", "59.5 s", "never"]
