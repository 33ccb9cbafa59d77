"""How fast training steps are on 1 to N nodes, for every way to synchronise: one job measures all of it.

    python3 -m corral.gauges.training --models gpt2-124m --precision bf16

Alone it measures one device. Started by torchrun on several nodes it takes the first 1, 2 … N of them in turn, while
the others wait. Tells `machine`, `model` and `row` records; see docs/bench-ddp.md.
"""

from __future__ import annotations

import argparse
import gc
import platform
import statistics
import sys
from dataclasses import asdict, replace
from typing import Any

import torch

from corral import train
from corral.gauges import models
from corral.gauges.peers import Peers
from corral.gauges.report import tell
from corral.gauges.sizes import ALONE, MODELS, MODES, PRECISIONS, Shape, flops, shape
from corral.gauges.stepping import Setting, Timing, Trainee, timed

_LEAST = Setting("gpt-1m", Shape(1, 1))


def main(words: list[str] | None = None) -> int:
    """Measure everything that was asked for, row by row."""
    options = _options(words)
    # Convolutions are tried in several ways at first, and the fastest is kept.
    torch.backends.cudnn.benchmark = True
    peers = Peers.meet()
    if peers.first:
        tell("machine", **_machine(peers))
    for name in options.models or (["gpt2-124m"] if peers.device.type == "cuda" else ["gpt-4m"]):
        _measure_model(name, options, peers)
    peers.part()
    return 0


def _measure_model(name: str, options: argparse.Namespace, peers: Peers) -> None:
    setting = _that_fits(_setting(name, options, peers.device), options, peers)
    if peers.first:
        tell("model", **_about(setting, options))
    for count in _counted(options, peers):
        for mode in (ALONE,) if count * peers.unit == 1 else options.modes:
            _measure_row(setting, mode, count, options, peers)
            peers.wait()


def _counted(options: argparse.Namespace, peers: Peers) -> list[int]:
    """Numbers of nodes; one is always among them, because the others are compared to it."""
    wanted = set(options.counts or range(1, peers.most + 1)) | {1}
    return sorted(count for count in wanted if count <= peers.most)


def _that_fits(setting: Setting, options: argparse.Namespace, peers: Peers) -> Setting:
    """The usual batch, halved until every rank's GPU has room for it; a batch that was asked for stays."""
    while peers.device.type == "cuda" and not options.batch and setting.form.batch > 1:
        full = 0.0
        try:
            Trainee(setting, peers.device).steps_together()
        except torch.cuda.OutOfMemoryError:
            full = 1.0
        _free(peers.device)
        if not peers.slowest(full, peers.most):
            break
        setting = replace(setting, form=replace(setting.form, batch=setting.form.batch // 2))
    return setting


def _free(device: Any) -> None:
    """Models and their hooks hold each other: only the collector lets go of them."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)


def _measure_row(setting: Setting, mode: str, count: int, options: argparse.Namespace, peers: Peers) -> None:
    _free(peers.device)
    # Who has no part still has to be there when groups are made; any model will do.
    trainee = Trainee(setting if peers.takes_part(count) else _LEAST, peers.device)
    synchronizer = _synchronizer(trainee, mode, count, options, peers)
    if peers.takes_part(count):
        whole = options.accumulate * (options.every if mode == "local" else 1)
        timing = timed(trainee.run, lambda taken: peers.slowest(taken, count), options.seconds, whole)
        row = _row(trainee, mode, count, timing, peers)
        if mode == ALONE and trainee.pace is None:
            row |= trainee.phases(5)
        if peers.first:
            tell("row", **row)
    if mode == "local":
        # Waits for what is under way. To close it would average the whole model once more, seconds on a slow link.
        synchronizer.state_dict()
    elif synchronizer is not None:
        synchronizer.close()


def _synchronizer(trainee: Trainee, mode: str, count: int, options: argparse.Namespace, peers: Peers) -> Any:
    if mode == ALONE:
        return None
    local = {"every": options.every, "fragments": options.fragments} if mode == "local" else {}
    synchronizer = train.Synchronizer(trainee.model, trainee.optimizer, mode, ranks=peers.ranks(count), **local)
    if mode == "powersgd" and peers.takes_part(count):
        _past_the_beginning(synchronizer)
    trainee.called = torch.compile(synchronizer.model) if trainee.setting.compiled else synchronizer.model
    trainee.apart = synchronizer.no_sync
    return synchronizer


def _past_the_beginning(synchronizer: Any) -> None:
    """Continue as a training whose first steps, in which PowerSGD sends whole gradients, are over."""
    own = synchronizer.rank_state_dict()
    synchronizer.load_state_dict(synchronizer.state_dict())
    synchronizer.load_rank_state_dict({**own, "iter": own["start_powerSGD_iter"]})


def _row(trainee: Trainee, mode: str, count: int, timing: Timing, peers: Peers) -> dict[str, object]:
    form, name = trainee.setting.form, trainee.setting.model
    samples_s = form.batch * count * peers.unit / timing.step_s
    row: dict[str, object] = {
        "model": name,
        "mode": mode,
        "n": count,
        "ranks": count * peers.unit,
        **asdict(timing),
        "samples_s": samples_s,
        "tokens_s": samples_s * form.length if MODELS[name].unit == "tokens" else None,
    }
    if trainee.pace is not None:
        row["late_s"] = statistics.median(trainee.pace.late_s[-timing.steps :])
    else:
        row["tflop_s"] = flops(name, trainee.parameters, form) * count * peers.unit / timing.step_s / 1e12
    if peers.device.type == "cuda":
        row["peak_memory_bytes"] = torch.cuda.max_memory_allocated(peers.device)
    return row


def _about(setting: Setting, options: argparse.Namespace) -> dict[str, object]:
    with torch.device("meta"):
        count = models.parameters(models.build(setting.model))
    return {
        "name": setting.model,
        "parameters": count,
        "gradient_bytes": count * 4,
        "batch": setting.form.batch,
        "length": setting.form.length,
        "unit": MODELS[setting.model].unit,
        "precision": setting.precision,
        "compute_s": setting.compute_s,
        "compiled": setting.compiled,
        "accumulate": setting.accumulate,
        "every": options.every,
        "fragments": options.fragments,
    }


def _machine(peers: Peers) -> dict[str, object]:
    cuda = peers.device.type == "cuda"
    return {
        "device": torch.cuda.get_device_name(peers.device) if cuda else platform.processor() or platform.machine(),
        "cuda": cuda,
        "torch": torch.__version__,
        "backend": peers.backend,
        "n": peers.most,
        "unit": peers.unit,
    }


def _setting(name: str, options: argparse.Namespace, device: Any) -> Setting:
    # With a stated time the batch only has to give gradients; a CPU that really computes gets a small one too.
    large = device.type == "cuda" and options.compute_ms is None
    form = shape(name, large=large, batch=options.batch, length=options.sequence)
    compute_s = None if options.compute_ms is None else options.compute_ms / 1000
    return Setting(name, form, options.precision, compute_s, options.compile, options.accumulate)


def _options(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python3 -m corral.gauges.training", description=__doc__.partition("\n")[0])
    parser.add_argument("--models", type=_names(MODELS), metavar="NAME,…", help="by default one that fits the device")
    parser.add_argument("--modes", type=_names(MODES), default=list(MODES), metavar="NAME,…")
    parser.add_argument("--counts", type=_counts, help="numbers of nodes, such as 1,2,3; all by default")
    parser.add_argument("--batch", type=int, help="samples per process and step")
    parser.add_argument("--sequence", type=int, help="words per sample of a GPT")
    parser.add_argument("--precision", choices=PRECISIONS, default="fp32")
    parser.add_argument("--compute-ms", type=float, help="a stated compute time per step instead of a real one")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--accumulate", type=int, default=1, help="steps whose gradients are added up")
    parser.add_argument("--every", type=int, default=50, help="optimizer's steps per round of local")
    parser.add_argument("--fragments", type=int, default=4, help="parts that local sends one after the other")
    parser.add_argument("--seconds", type=float, default=6.0, help="time to measure each row for")
    return parser.parse_args(words)


def _names(known: Any) -> Any:
    def names(text: str) -> list[str]:
        found = [name.strip() for name in text.split(",") if name.strip()]
        for name in found:
            if name not in known:
                raise argparse.ArgumentTypeError(f"there is no {name!r}; there are {', '.join(known)}")
        return found

    return names


def _counts(text: str) -> list[int]:
    return sorted({int(part) for part in text.split(",")})


if __name__ == "__main__":
    sys.exit(main())
