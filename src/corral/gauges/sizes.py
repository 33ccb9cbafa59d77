"""Which built-in models and ways to synchronise there are: known without torch, where reports are made.

The GPT-2 sizes and the ResNet-50 size have the parameters of the originals; the small ones let a slow link be measured
in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

MODES = ("plain", "ddp", "bf16", "powersgd", "local")
"""Of `corral.train`, in the order in which they are measured."""

ALONE = "alone"
"""One process that synchronises with nobody: what the others are compared to."""

PRECISIONS = ("fp32", "bf16")


@dataclass(frozen=True, slots=True)
class Gpt:
    """A GPT-style transformer; `context` is the longest sequence."""

    layers: int
    width: int
    heads: int
    words: int = 256
    context: int = 128
    batch: int = 32
    """What keeps a large GPU busy."""

    unit = "tokens"


@dataclass(frozen=True, slots=True)
class Conv:
    """A convolutional net of bottleneck blocks."""

    depths: tuple[int, ...] = (3, 4, 6, 3)
    classes: int = 1000
    batch: int = 256

    unit = "images"


MODELS: dict[str, Gpt | Conv] = {
    "gpt-1m": Gpt(5, 128, 4),
    "gpt-4m": Gpt(5, 256, 4),
    "gpt-16m": Gpt(5, 512, 8),
    "gpt2-124m": Gpt(12, 768, 12, words=50257, context=1024),
    "gpt2-350m": Gpt(24, 1024, 16, words=50257, context=1024, batch=16),
    "resnet50": Conv(),
}

_IMAGE = 224
_CONV_FLOPS = 3 * 2 * 4.089e9
"""Of one image of that size, forward and backward; multiplications and additions of ResNet-50 counted as two."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One process's share of a step: how many samples, and how long (words) or wide (pixels) each is."""

    batch: int
    length: int


def shape(name: str, *, large: bool, batch: int | None = None, length: int | None = None) -> Shape:
    """The usual batch on a GPU (`large`), or the least that still gives every parameter a gradient.

    A length that was asked for is that of words; images keep their size.
    """
    size = MODELS[name]
    if isinstance(size, Gpt):
        usual = Shape(size.batch, size.context) if large else Shape(1, 16)
    else:
        # Batch normalisation needs two values of each channel, after the image was halved five times.
        usual = Shape(size.batch, _IMAGE) if large else Shape(1, 64)
    longer = length if length and isinstance(size, Gpt) else usual.length
    return Shape(batch or usual.batch, longer)


def flops(name: str, count: int, form: Shape) -> float:
    """Operations of one step of one process: six per parameter and word, or those of ResNet-50 per image."""
    if isinstance(MODELS[name], Gpt):
        return 6.0 * count * form.batch * form.length
    return _CONV_FLOPS * form.batch * (form.length / _IMAGE) ** 2
