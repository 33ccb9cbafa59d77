"""What mode `auto` chooses, and what is refused."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed here: `make test` brings it")

from corral.inside.cost import Link, Work, all_reduce_s
from corral.train import Synchronizer
from corral.train.auto import choose, link_of
from corral.train.local import LocalOptions

_WORK = Work(step_s=0.2, shapes=((1000, 1000),) * 25)  # 100 MB of gradients


@pytest.mark.parametrize(
    ("bit_s", "mode"), [(100e9, "ddp"), (20e9, "ddp"), (10e9, "bf16"), (1e9, "local"), (100e6, "local")]
)
def test_auto_takes_the_mode_that_changes_least_and_still_pays(bit_s: float, mode: str) -> None:
    assert choose(_WORK, Link(bit_s=bit_s), 3, LocalOptions()).mode.name == mode


def test_the_link_is_the_one_on_which_the_probe_takes_as_long() -> None:
    link = Link(bit_s=1e9, lanes_latency_s=0.0)
    assert link_of(all_reduce_s(4 << 20, link, 3), 3).bit_s == pytest.approx(1e9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "locl"}, "must be one of auto, plain, ddp, bf16, powersgd, local"),
        ({"mode": "local", "bits": 16}, "bits=16: must be 32, 8 or 4"),
        ({"mode": "local", "every": 10, "overlap": 10}, "overlap=10: must be at least 0 and less than every=10"),
    ],
)
def test_options_that_make_no_sense_are_refused_in_one_line(options: dict[str, int], words: str) -> None:
    model = torch.nn.Linear(2, 2)
    with pytest.raises(ValueError, match=words):
        Synchronizer(model, torch.optim.SGD(model.parameters()), **options)  # type: ignore[arg-type]  # wrong ones are the point


@pytest.mark.parametrize("mode", ["auto", "plain", "ddp", "bf16", "powersgd", "local"])
def test_alone_every_mode_is_plain_training_and_needs_no_group(mode: str) -> None:
    model = torch.nn.Linear(2, 2)
    sync = Synchronizer(model, torch.optim.SGD(model.parameters()), mode)
    assert sync.model is model
    with sync.no_sync(), sync.shared():
        pass
    sync.load_state_dict(sync.state_dict())
    sync.load_rank_state_dict(sync.rank_state_dict())
    sync.close()
