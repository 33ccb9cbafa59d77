"""The built-in models have the sizes that their names promise, and learn."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from corral.gauges import models  # noqa: E402 (needs torch)
from corral.gauges.sizes import Shape, flops, shape  # noqa: E402 (as above)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("gpt2-124m", 124_439_808),
        ("gpt2-350m", 354_823_168),
        ("resnet50", 25_557_032),
        ("gpt-1m", 1_040_768),
        ("gpt-4m", 4_047_616),
        ("gpt-16m", 15_959_552),
    ],
)
def test_a_model_has_as_many_parameters_as_the_original(name: str, count: int) -> None:
    with torch.device("meta"):
        assert models.parameters(models.build(name)) == count


@pytest.mark.parametrize("name", ["gpt-1m", "resnet50"])
def test_the_least_batch_gives_every_parameter_a_gradient(name: str) -> None:
    torch.manual_seed(0)
    model = models.build(name)
    model(*models.data(name, shape(name, large=False), "cpu")).backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []


def test_a_model_learns_its_batch() -> None:
    torch.manual_seed(0)
    model = models.build("gpt-1m")
    batch = models.data("gpt-1m", Shape(2, 8), "cpu")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(12):
        loss = model(*batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2


def test_a_gpt_of_a_gpu_reads_whole_contexts() -> None:
    assert shape("gpt2-124m", large=True) == Shape(32, 1024)
    assert shape("gpt2-124m", large=True, batch=4, length=256) == Shape(4, 256)


def test_a_step_of_a_gpt_counts_six_operations_per_parameter_and_word() -> None:
    assert flops("gpt2-124m", 124_439_808, Shape(32, 1024)) == pytest.approx(2.4466e13, rel=1e-4)
