"""A job that says where and when it ran, and which GPUs of the machine it was let near."""

from __future__ import annotations

import argparse
import errno
import os
import socket
import time
from collections.abc import Iterable
from pathlib import Path

from corral.gauges.report import tell

_REFUSALS = (errno.EPERM, errno.EACCES)


def doors(devices: Iterable[Path]) -> dict[str, str]:
    """What came of opening each device: `open`, `denied`, or the kernel's words for a device that does not answer."""
    found = {}
    for device in devices:
        try:
            os.close(os.open(device, os.O_RDONLY | os.O_NONBLOCK))
            found[str(device)] = "open"
        except OSError as problem:
            found[str(device)] = "denied" if problem.errno in _REFUSALS else os.strerror(problem.errno or 0)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--stay", type=float, default=0.0, help="seconds to stay before saying goodbye")
    stay_s = parser.parse_args().stay
    began = time.time()
    devices = doors(sorted(Path("/dev").glob("nvidia[0-9]*")))
    time.sleep(stay_s)
    tell(
        "hello",
        node=os.environ.get("SLURMD_NODENAME", ""),
        host=socket.gethostname(),
        began=began,
        ended=time.time(),
        devices=devices,
        visible=os.environ.get("CUDA_VISIBLE_DEVICES"),
    )


if __name__ == "__main__":
    main()
