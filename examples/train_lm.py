"""Trains a small language model on bytes of text: on one machine as it is, on several with three more lines.

python train_lm.py                                            # here
corral run --env VENV train_lm.py                             # as a job
corral run --env VENV --nodes 3 --ddp train_lm.py --mode local  # on three nodes

The text is Corral's own source, which is there wherever `import corral` works. With --compute-ms every step is held to
the pace of a device that computes so long, with real gradients and real traffic: to see what a slow link does to it.
"""

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

import corral
from corral import metrics, train
from corral.gauges.pace import Pace


class Block(nn.Module):
    """Attention to what came before, then a wide layer, each added to its input."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_in, self.norm_out = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = (
            self.attend(self.norm_in(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        )
        found = functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        x = x + self.project(found.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(functional.gelu(self.widen(self.norm_out(x))))


class Model(nn.Module):
    """A byte-level transformer of 2.4 million parameters, most of them in a table of byte pairs."""

    def __init__(self, width: int = 64, layers: int = 4, context: int = 64, pairs: int = 32_768) -> None:
        super().__init__()
        self.pairs = pairs
        self.byte, self.pair = nn.Embedding(256, width), nn.Embedding(pairs, width)
        self.place = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads=4) for _ in range(layers))
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, 256)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                deep = name.endswith(("project.weight", "narrow.weight"))
                nn.init.normal_(parameter, std=0.02 / (2 * layers) ** 0.5 if deep else 0.02)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        """The loss of guessing each byte from those before it."""
        given, following = text[:, :-1], text[:, 1:]
        before = functional.pad(given, (1, 0))[:, :-1]
        x = self.byte(given) + self.pair((before * 256 + given) % self.pairs) + self.place.weight[: given.shape[1]]
        for block in self.blocks:
            x = block(x)
        return functional.cross_entropy(self.out(self.norm(x)).flatten(0, 1), following.flatten())


class Text:
    """Batches of the text; the last tenth is kept for validation. Which batch it is depends on step and rank alone."""

    def __init__(self, batch: int, length: int, device: torch.device) -> None:
        files = sorted(Path(corral.__file__).parent.rglob("*.py"))
        everything = torch.tensor(bytearray(b"".join(path.read_bytes() for path in files)), dtype=torch.int64)
        self.learned, self.kept = everything.tensor_split([len(everything) * 9 // 10])
        self.batch, self.length, self.device = batch, length, device

    def draw(self, step: int, rank: int) -> torch.Tensor:
        return self._take(self.learned, self.batch, torch.Generator().manual_seed(step * 1000 + rank))

    def validation(self, batch: int = 64) -> torch.Tensor:
        return self._take(self.kept, batch, torch.Generator().manual_seed(1))

    def _take(self, source: torch.Tensor, batch: int, generator: torch.Generator) -> torch.Tensor:
        starts = torch.randint(len(source) - self.length - 1, (batch, 1), generator=generator)
        return source[starts + torch.arange(self.length + 1)].to(self.device)


def warm_then_cosine(steps: int, warm: int = 60) -> Callable[[int], float]:
    """The learning rate over a training, as a share of the highest."""
    return lambda step: min((step + 1) / warm, 0.55 + 0.45 * math.cos(math.pi * min(1.0, step / steps)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", default="auto", choices=train.MODES)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--batch", type=int, default=8, help="of each rank")
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--every", type=int, default=20, help="mode local: steps between averages")
    parser.add_argument("--bits", type=int, default=32, choices=(32, 8, 4), help="mode local: of an exchanged number")
    parser.add_argument("--compute-ms", type=float, default=0.0, help="how long a step computes at least")
    parser.add_argument("--every-s", type=float, default=300.0, help="seconds between checkpoints")
    parser.add_argument("--report", type=int, default=20, help="steps between reports")
    options = parser.parse_args()

    run = train.init()  # 1
    torch.manual_seed(0)
    text = Text(options.batch, 64, run.device)
    model = Model().to(run.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, warm_then_cosine(options.steps))
    pace = Pace(options.compute_ms / 1000)
    pace.hold(model.blocks, optimizer)
    sync = train.Synchronizer(model, optimizer, options.mode, every=options.every, bits=options.bits)  # 2
    registered = {"model": model, "optimizer": optimizer, "schedule": schedule, "sync": sync}
    model = sync.model  # 3

    state = run.restore(registered, every_s=options.every_s)
    for step in state.steps(options.steps):
        pace.begin()
        loss = model(text.draw(step, run.rank))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % options.report == 0 or step + 1 == options.steps:
            metrics.report(step=step, loss=loss)
            if run.rank == 0:
                print(f"step {step} loss {loss.item():.9f}", flush=True)

    sync.close()
    with torch.no_grad():
        print(f"[{run.rank}] mode {sync.mode}, validation loss {model(text.validation()).item():.4f}")


if __name__ == "__main__":
    main()
