"""Starting a cluster's supervisor in namespaces and a cgroup of its own."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

from corral.errors import ProviderError
from corral.hosts.local import run
from corral.providers.local.cgroups import SUPERVISOR_LEAF, Cgroup
from corral.providers.local.control import Status, ask

# One that ends is noticed at once; this is for a slow machine, cold after a reboot.
_START_TIMEOUT_S = 90.0
_END_TIMEOUT_S = 20.0
_POLL_S = 0.02

# Enters cgroups that exist, and fails where they do not: whoever removes them has thereby called it off.
_LAUNCH = """
umask 022
cd /
log=$1 top=$2; shift 2
while [ "$1" != -- ]; do echo 0 > "$1/cgroup.procs"; shift; done
shift
exec setsid --fork unshare --mount --pid --uts --ipc --propagation private \
  --fork --kill-child=SIGKILL --mount-proc sh -ec "$INIT" sh "$top" "$@" < /dev/null >> "$log" 2>&1
"""

# PID 1 of the namespaces. A cgroup namespace begins at the cgroup it is made in, so it steps up for a
# moment. Then it waits: that reaps every orphan, and when the supervisor ends, all ends.
_INIT = """
echo 0 > "$1/cgroup.procs"; shift
exec 8< /proc/self/ns/mnt 9< /proc/self/ns/net
unset INIT
exec unshare --mount --net --cgroup --propagation private sh -c '"$@" & wait $!' sh "$@"
"""


async def ensure_supervisor(cluster: str, directory: Path) -> None:
    """Return when the cluster's supervisor answers: the one that runs, or a new one."""
    cgroup = Cgroup.of_cluster(cluster)
    deadline = time.monotonic() + _START_TIMEOUT_S
    launched = False
    while True:
        if not cgroup.populated:
            if launched:
                raise ProviderError(f"the supervisor of {cluster} ended at once:\n{_last_words(directory)}")
            await _launch(cluster, directory, cgroup)
            launched = True
        _refuse_foreign(cluster, directory, cgroup)
        try:
            await ask(directory, Status())
            return
        except ProviderError:
            if time.monotonic() > deadline:
                raise ProviderError(
                    f"the supervisor of {cluster} does not answer. Try: corral down, then corral up\n"
                    f"{_last_words(directory)}"
                ) from None
        await asyncio.sleep(_POLL_S)


async def _launch(cluster: str, directory: Path, cgroup: Cgroup) -> None:
    if not await cgroup.end(_END_TIMEOUT_S):
        raise ProviderError(f"the cgroup {cgroup.path} of an earlier run cannot be removed")
    cgroup.create(children=[SUPERVISOR_LEAF])
    # The supervisor finds the modules that this process found, wherever it was started.
    modules = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path if entry)
    supervisor = (sys.executable, "-m", "corral.providers.local.supervisor", cluster, str(directory))
    done = await run(
        [
            *("env", f"PYTHONPATH={modules}", f"INIT={_INIT}", "sh", "-ec", _LAUNCH, "sh"),
            *(str(directory / "supervisor.log"), str(cgroup.path)),
            *(str(path) for path in (cgroup.path / SUPERVISOR_LEAF, *cgroup.legacy)),
            *("--", *supervisor),
        ]
    )
    if not done.ok:
        raise ProviderError(f"the supervisor of {cluster} did not start: {done.last_words()}")


def _refuse_foreign(cluster: str, directory: Path, cgroup: Cgroup) -> None:
    pid = cgroup.supervisor()
    if pid is None:
        return
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
    except OSError:
        return
    if cluster in words and words[-1] != str(directory):
        raise ProviderError(f"a local cluster called {cluster} already runs, from {words[-1]}")


def _last_words(directory: Path, lines: int = 8) -> str:
    try:
        return "\n".join((directory / "supervisor.log").read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return "(it left no log)"
