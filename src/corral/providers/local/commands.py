"""Programs that have to work, or the machines cannot be made."""

from __future__ import annotations

from corral.errors import ProviderError
from corral.hosts.local import run


async def must(*argv: str, stdin: str = "") -> None:
    """Run a program; one that fails is a `ProviderError` with its last words."""
    done = await run(argv, stdin=stdin.encode())
    if not done.ok:
        raise ProviderError(f"`{' '.join(argv)}` failed: {done.last_words()}")
