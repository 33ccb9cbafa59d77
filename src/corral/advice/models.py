"""The parameters of models that people know by name, so that nothing has to be loaded to count them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from corral.inside.cost import Shape

Shapes = tuple[Shape, ...]


def _gpt(layers: int, width: int, words: int = 256, context: int = 128) -> Shapes:
    """GPT-2's: learned positions, the same matrix for words in and out."""
    block: Shapes = (
        *((width,),) * 4,
        *((3 * width, width), (3 * width,), (width, width), (width,)),
        *((4 * width, width), (4 * width,), (width, 4 * width), (width,)),
    )
    return ((words, width), (context, width), *block * layers, (width,), (width,))


def _resnet50(depths: tuple[int, ...] = (3, 4, 6, 3), classes: int = 1000) -> Shapes:
    found = [*_convolution(3, 64, 7)]
    channels = 64
    for stage, depth in enumerate(depths):
        width = 64 * 2**stage
        for number in range(depth):
            found += [*_convolution(channels, width, 1), *_convolution(width, width, 3)]
            found += _convolution(width, 4 * width, 1)
            if number == 0:
                found += _convolution(channels, 4 * width, 1)
            channels = 4 * width
    return (*found, (classes, channels), (classes,))


def _convolution(before: int, after: int, side: int) -> Shapes:
    """With the two vectors of its batch normalisation."""
    return (after, before, side, side), (after,), (after,)


MODELS: Mapping[str, Callable[[], Shapes]] = {
    "gpt-1m": partial(_gpt, 5, 128),
    "gpt-4m": partial(_gpt, 5, 256),
    "gpt-16m": partial(_gpt, 5, 512),
    "gpt2-124m": partial(_gpt, 12, 768, words=50257, context=1024),
    "gpt2-350m": partial(_gpt, 24, 1024, words=50257, context=1024),
    "resnet50": _resnet50,
}
"""The same as `corral bench ddp` trains."""


def shapes_of(name: str) -> Shapes:
    """Of all parameters in the model's order; nothing for a model that is not known by name."""
    return MODELS[name]() if name in MODELS else ()
