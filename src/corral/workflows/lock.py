"""One operator at a time: a lock on this machine, and one on the head for operators elsewhere."""

from __future__ import annotations

import fcntl
import getpass
import os
import shlex
import socket
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from corral.errors import LockedError
from corral.hosts.base import Host

# The lock lives as long as this script's input. Talking to the operator now and then makes the head notice
# one who lost power, so that nobody is locked out for good.
_HOLD = """
mkdir -p -m 700 /run/corral; exec 9>>/run/corral/operator.lock
flock -n 9 || {{ echo "busy $(cat /run/corral/operator.lock)"; exit 0; }}
printf '%s\\n' {who} > /run/corral/operator.lock
echo held
main=$$
(while echo alive && sleep 10 >&-; do :; done; kill $main) 9>&- 2>&- &
cat > /dev/null
kill $!; : > /run/corral/operator.lock
"""


def who() -> str:
    """This process, in words for whoever finds the lock taken."""
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])
    since = time.strftime("%H:%M:%S")
    return f"{getpass.getuser()}@{socket.gethostname()} (pid {os.getpid()}, since {since}: {command})"


@contextmanager
def hold_here(folder: Path) -> Iterator[None]:
    """Hold the cluster's lock on this machine; the kernel lets go of it however this process ends."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / "lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as problem:
            file.seek(0)
            raise LockedError(_busy(file.read())) from problem
        file.truncate(0)
        file.write(who())
        file.flush()
        yield
        file.truncate(0)


@asynccontextmanager
async def hold_on(head: Host) -> AsyncIterator[None]:
    """Hold the cluster's lock on its head for as long as the body runs."""
    async with head.hold(_HOLD.format(who=shlex.quote(who()))) as answer:
        verdict, _, holder = answer.partition(" ")
        if verdict != "held":
            raise LockedError(_busy(holder))
        yield


def _busy(holder: str) -> str:
    who_else = holder.strip() or "unknown"
    return f"another operator is at work on this cluster: {who_else}. Try again when they are done"
