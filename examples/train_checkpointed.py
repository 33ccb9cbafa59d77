"""Trains a small classifier on generated data and may be stopped at any time: it continues with the same losses.

python train_checkpointed.py                                       # here
corral run train_checkpointed.py                                   # as a job
corral run --nodes 3 --ddp train_checkpointed.py --ddp             # on three nodes
"""

import argparse
import os
import time

import torch
from torch import nn

from corral import checkpoint, metrics

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--step-s", type=float, default=0.0, help="how long a step takes at least")
parser.add_argument("--every-s", type=float, default=300.0, help="seconds between checkpoints")
parser.add_argument("--ddp", action="store_true", help="one of several ranks, started by torchrun")
options = parser.parse_args()

# Ranks' gradients are summed in an order that changes while DDP warms up: in double precision that does not show.
torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
cuda = torch.cuda.is_available()
device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if cuda else torch.device("cpu")
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 10)).to(device)
if options.ddp:
    if cuda:
        torch.cuda.set_device(device)
    torch.distributed.init_process_group("nccl" if cuda else "gloo")
    torch.manual_seed(1 + torch.distributed.get_rank())  # every rank draws data of its own
    model = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=options.lr)
answers = torch.linspace(-1, 1, 640, device=device).reshape(64, 10).sin()

state = checkpoint.restore({"model": model, "optimizer": optimizer}, every_s=options.every_s)
for step in state.steps(options.steps):
    images = torch.randn(32, 64, device=device)
    loss = nn.functional.cross_entropy(model(images), (images @ answers).argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    time.sleep(options.step_s)
    if not options.ddp or torch.distributed.get_rank() == 0:
        print(f"step {step} loss {loss.item():.9f}", flush=True)
    metrics.report(step=step, loss=loss)

if options.ddp:
    torch.distributed.destroy_process_group()
