"""What a script registered for its checkpoints: how it is put into one and how it comes back."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from corral.inside.group import say


def pack(values: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that a checkpoint holds of the registered values."""
    return {name: value.state_dict() if _has_state(value) else value for name, value in values.items()}


def unpack(values: dict[str, Any], packed: Mapping[str, Any]) -> None:
    """Bring registered values to where they were; objects stay the same objects wherever that is possible."""
    for name in values.keys() - packed.keys():
        say(f"the checkpoint has no {name!r}: it stays as the script made it")
    for name in values.keys() & packed.keys():
        value, saved = values[name], packed[name]
        if _has_state(value):
            value.load_state_dict(saved)
        elif not _refilled(value, saved):
            values[name] = saved
    for name in packed.keys() - values.keys():
        say(f"the checkpoint also has {name!r}, which the script does not register")


def _has_state(value: Any) -> bool:
    return hasattr(value, "state_dict") and hasattr(value, "load_state_dict")


def _refilled(value: Any, saved: Any) -> bool:
    # The script may hold on to the container itself: a new one would leave it with the old content.
    if type(value) is not type(saved):
        return False
    if isinstance(value, list):
        value[:] = saved
    elif isinstance(value, (dict, set)):
        value.clear()
        value.update(saved)
    elif _is_array(value) and value.shape == saved.shape and value.dtype == saved.dtype:
        # Through `data`, because autograd forbids writing into a leaf that it watches.
        target = value.data if _is_tensor(value) else value
        target[...] = saved
    else:
        return False
    return True


def _is_tensor(value: Any) -> bool:
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _is_array(value: Any) -> bool:
    numpy: Any = sys.modules.get("numpy")
    return _is_tensor(value) or (hasattr(numpy, "ndarray") and isinstance(value, numpy.ndarray))
