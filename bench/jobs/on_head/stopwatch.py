"""Times commands on the machine that it runs on, as whoever runs it: from JSON on stdin to JSON on stdout."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any


def take(item: dict[str, Any]) -> list[Any]:
    """Seconds from the start of a shell command to its end, and the last line that it printed."""
    began = time.perf_counter()
    done = subprocess.run(
        ["bash", "-c", item["command"]], capture_output=True, text=True, check=False, timeout=item["limit_s"]
    )
    seconds = time.perf_counter() - began
    if done.returncode != 0:
        sys.exit(f"{item['command']} ended with {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
    if item["after"]:
        subprocess.run(["bash", "-c", item["after"]], check=True, stdout=subprocess.DEVNULL)
    return [seconds, (done.stdout.splitlines() or [""])[-1][:200]]


def main() -> None:
    """All commands take turns, round by round, so that a busy moment of the machine meets each of them."""
    items = json.load(sys.stdin)
    found: dict[str, list[Any]] = {item["name"]: [] for item in items}
    for number in range(max(item["rounds"] for item in items)):
        for item in items:
            if number < item["rounds"]:
                found[item["name"]].append(take(item))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
