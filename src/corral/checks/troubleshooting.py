"""The troubleshooting page, made from the catalogue (`make docs`)."""

from __future__ import annotations

import sys

from corral.checks.catalogue import KINDS
from corral.checks.ladder.kinds import KINDS as LADDER_KINDS

_INTRODUCTION = """# Troubleshooting

`corral doctor` looks at the controller and at every machine and says in plain words what is wrong, where, and how to
mend it; `corral doctor NAME` looks at one machine, `--json` prints it for programs, and `--fix` mends what can be
mended without risk to running jobs. It exits 1 when something is wrong; a warning alone does
not count. What a person drained is never resumed.

This page is made from the doctor's own findings: `make docs`.
"""


_CHECK = """# What only `corral check` finds

[`corral check`](check.md) tries everything that a cluster is for, so it also finds what no machine knows of itself.
"""


def page() -> str:
    """The whole page: one section per kind of finding."""
    parts = [_INTRODUCTION]
    for kind in KINDS:
        fix = f"`--fix` {kind.mended}" if kind.mended else "`--fix` leaves it to you."
        parts.append(f"## {kind.title}\n\n*{kind.name}*. {kind.meaning}\n\n**What to do**: {kind.by_hand}\n\n{fix}\n")
    parts.append(_CHECK)
    for kind in LADDER_KINDS:
        parts.append(f"## {kind.title}\n\n*{kind.name}*. {kind.meaning}\n\n**What to do**: {kind.by_hand}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(page())
