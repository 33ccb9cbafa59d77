"""Many probes, one round trip: the scripts run one after another, marked off by a random nonce."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from corral.deploy.step import Step
from corral.errors import HostError
from corral.hosts.base import Host

_TIMEOUT_S = 60.0


async def probe(host: Host, steps: Sequence[Step]) -> dict[str, str]:
    """What each step's probe prints on this host, by the step's name."""
    if not steps:
        return {}
    marker = new_marker()
    done = await host.run("".join(section(step, marker) for step in steps), timeout_s=_TIMEOUT_S)
    sections = done.stdout.split(marker)
    if not done.ok or len(sections) != len(steps) + 1:
        raise HostError(host.name, f"its state could not be read: {done.last_words() or 'no answer'}")
    return {step.name: text for step, text in zip(steps, sections, strict=False)}


def section(step: Step, marker: str) -> str:
    """The script that runs one probe in a shell of its own and closes with the marker."""
    return f"(\n{step.probe()}\n) </dev/null 2>&1\nprintf %s {marker}\n"


def new_marker() -> str:
    """A marker that no probe can print by accident."""
    return f"--corral-{secrets.token_hex(12)}--"
