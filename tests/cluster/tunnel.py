"""slurmrestd of a local cluster, reached as from an operator's laptop: over SSH, through a socket on this computer."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.lab import Lab, eventually

from corral.hosts.known_hosts import KnownHosts
from corral.hosts.openssh import ssh_command
from corral.slurm.rest.client import SlurmRest
from corral.slurm.rest.token import TOKEN_SCRIPT, Token, parse_token
from corral.slurm.rest.transport import Unix


@contextmanager
def tunnel(lab: Lab, folder: Path) -> Iterator[Unix]:
    """A socket whose other end is the head's port 6820."""
    head = lab.machines.machines()[0]
    known = folder / "known_hosts"
    known.write_text(f"{head.address} {head.host_key}\n")
    path = folder / "slurmrestd.socket"
    argv = ssh_command(head, KnownHosts(known), [])
    argv[argv.index("-p") : argv.index("-p")] = ["-N", "-L", f"{path}:{head.address}:6820"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL) as ssh:
        try:
            eventually(path.is_socket)
            yield Unix(str(path))
        finally:
            ssh.terminate()
            ssh.wait()
            path.unlink(missing_ok=True)


def token_of(lab: Lab, user: str) -> Token:
    """As that user gets it on the head."""
    return parse_token(lab.as_user(user, TOKEN_SCRIPT, exit_code=None))


def client(lab: Lab, endpoint: Unix, user: str) -> SlurmRest:
    """Slurm as that user."""

    async def get_token() -> Token:
        return token_of(lab, user)

    return SlurmRest(endpoint, user, get_token)
