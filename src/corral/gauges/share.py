"""Shared storage from one node's side: `write` leaves a file under the node's name, `read` looks for everybody's.

Run by one node after the other has been: what is written here must be read there.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from corral.gauges.report import tell

_PATIENCE_S = 4.0
"""NFS lets a client remember for some seconds that a file was not there."""


def write(folder: Path, node: str) -> str:
    """Empty, or why it could not be done."""
    try:
        folder.mkdir(exist_ok=True)
        with (folder / node).open("w") as file:
            file.write(f"{folder.name} {node}")
            file.flush()
            os.fsync(file.fileno())
    except OSError as problem:
        return str(problem.strerror)
    return ""


def read(folder: Path, writers: list[str], patience_s: float = _PATIENCE_S) -> dict[str, str]:
    """Who wrote nothing that can be read here, and why."""
    deadline = time.monotonic() + patience_s
    problems: dict[str, str] = {}
    for writer in writers:
        while problem := _trouble(folder, writer):
            if time.monotonic() > deadline:
                problems[writer] = problem
                break
            time.sleep(0.2)
    return problems


def _trouble(folder: Path, writer: str) -> str:
    try:
        content = (folder / writer).read_text()
    except OSError as problem:
        return str(problem.strerror)
    return "" if content == f"{folder.name} {writer}" else "its content is another"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("do", choices=("write", "read"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("writers", nargs="*", help="for read: the nodes that wrote")
    wanted = parser.parse_args()
    node = os.environ["SLURMD_NODENAME"]
    if wanted.do == "write":
        tell("wrote", node=node, problem=write(wanted.folder, node))
    else:
        tell("read", node=node, problems=read(wanted.folder, wanted.writers))


if __name__ == "__main__":
    main()
