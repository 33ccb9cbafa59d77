"""The built-in models, in torch, with made-up data. Every model takes a batch and returns its loss."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from corral.gauges.sizes import MODELS, Conv, Gpt, Shape


def build(name: str) -> nn.Module:
    """The model, with random parameters; `blocks` are its repeated parts, in order."""
    size = MODELS[name]
    return GptModel(size) if isinstance(size, Gpt) else ConvModel(size)


def data(name: str, form: Shape, device: Any) -> tuple[Any, Any]:
    """One batch of noise and what is to be learned from it."""
    size = MODELS[name]
    if isinstance(size, Gpt):
        words = torch.randint(size.words, (form.batch, form.length + 1), device=device)
        return words[:, :-1].contiguous(), words[:, 1:].contiguous()
    images = torch.randn(form.batch, 3, form.length, form.length, device=device)
    return images, torch.randint(size.classes, (form.batch,), device=device)


def parameters(model: nn.Module) -> int:
    """How many it has; shared ones count once."""
    return sum(parameter.numel() for parameter in model.parameters())


class GptModel(nn.Module):
    """GPT-2's shape: learned positions, norms before, the same matrix for words in and out."""

    def __init__(self, size: Gpt) -> None:
        super().__init__()
        self.word = nn.Embedding(size.words, size.width)
        self.position = nn.Embedding(size.context, size.width)
        self.blocks = nn.ModuleList(_GptBlock(size.width, size.heads) for _ in range(size.layers))
        self.norm = nn.LayerNorm(size.width)
        self.register_buffer("places", torch.arange(size.context), persistent=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                scale = 0.02 / (2 * size.layers) ** 0.5 if name.endswith("out.weight") else 0.02
                nn.init.normal_(parameter, std=scale)

    def forward(self, words: Any, following: Any) -> Any:
        found = self.word(words) + self.position(self.places[: words.shape[1]])
        for block in self.blocks:
            found = block(found)
        scores = functional.linear(self.norm(found), self.word.weight)
        return functional.cross_entropy(scores.flatten(0, 1), following.flatten())


class _GptBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.attend_out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.think, self.think_out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, found: Any) -> Any:
        batch, length, width = found.shape
        split = self.attend(self.norm1(found)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        found = found + self.attend_out(mixed.transpose(1, 2).reshape(batch, length, width))
        return found + self.think_out(functional.gelu(self.think(self.norm2(found)), approximate="tanh"))


class ConvModel(nn.Module):
    """ResNet-50's shape: a stem, four stages of bottlenecks, each wider and half as large, and a classifier."""

    def __init__(self, size: Conv) -> None:
        super().__init__()
        self.stem = nn.Sequential(*_conv(3, 64, 7, stride=2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, padding=1))
        blocks, channels = [], 64
        for stage, depth in enumerate(size.depths):
            for number in range(depth):
                stride = 2 if stage > 0 and number == 0 else 1
                blocks.append(_Bottleneck(channels, 64 * 2**stage, stride))
                channels = 256 * 2**stage
        self.blocks = nn.ModuleList(blocks)
        self.classify = nn.Linear(channels, size.classes)

    def forward(self, images: Any, classes: Any) -> Any:
        found = self.stem(images)
        for block in self.blocks:
            found = block(found)
        return functional.cross_entropy(self.classify(found.mean(dim=(2, 3))), classes)


class _Bottleneck(nn.Module):
    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *_conv(channels, width, 1),
            nn.ReLU(inplace=True),
            *_conv(width, width, 3, stride=stride),
            nn.ReLU(inplace=True),
            *_conv(width, 4 * width, 1),
        )
        same = stride == 1 and channels == 4 * width
        self.short = nn.Identity() if same else nn.Sequential(*_conv(channels, 4 * width, 1, stride=stride))

    def forward(self, found: Any) -> Any:
        return functional.relu(self.body(found) + self.short(found), inplace=True)


def _conv(before: int, after: int, size: int, stride: int = 1) -> tuple[nn.Module, nn.Module]:
    return nn.Conv2d(before, after, size, stride, padding=size // 2, bias=False), nn.BatchNorm2d(after)
