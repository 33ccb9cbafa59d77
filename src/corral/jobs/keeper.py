"""The head's daemon: it keeps what people submitted in step with what Slurm knows of it."""

from __future__ import annotations

import time
from pathlib import Path

HEARTBEAT = Path("/run/corral/keeper")
"""Touched whenever the keeper went round once: `corral up` takes one that stopped doing so for dead."""
_ROUND_S = 2.0


def main() -> None:
    """Go round for ever."""
    while True:
        HEARTBEAT.parent.mkdir(mode=0o700, exist_ok=True)
        HEARTBEAT.touch()
        time.sleep(_ROUND_S)


if __name__ == "__main__":
    main()
