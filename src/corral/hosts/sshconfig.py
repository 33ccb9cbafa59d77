"""Machines as ~/.ssh/config knows them.

What is said explicitly wins over that file, and that file over Corral's defaults.
"""

from __future__ import annotations

import getpass
import re
from dataclasses import dataclass
from pathlib import Path

import asyncssh
from asyncssh.config import SSHClientConfig

from corral.errors import InputError
from corral.hosts.machine import Machine

_DESTINATION = re.compile(
    r"(?:(?P<user>[^@\s]+)@)?(?P<host>\[[^\]\s]+\]|[^:@\s]+|[0-9a-fA-F:.]+)(?::(?P<port>[0-9]+))?"
)
NO_JUMP = "none"


@dataclass(frozen=True, slots=True)
class Destination:
    """`[user@]host[:port]` taken apart; an IPv6 address with a port has brackets."""

    host: str
    user: str | None = None
    port: int | None = None

    @classmethod
    def parse(cls, text: str) -> Destination:
        match = _DESTINATION.fullmatch(text)
        if match is None or not 0 < int(match["port"] or 22) < 65536:
            raise InputError(f"'{text}' is not a host; write [user@]host[:port]")
        return cls(match["host"].strip("[]"), match["user"], int(match["port"]) if match["port"] else None)


def machine_at(
    name: str,
    destination: Destination,
    *,
    key: Path | None = None,
    jump: str | None = None,
    host_key: str | None = None,
    default_user: str = "root",
) -> Machine:
    """The machine with everything filled in that ~/.ssh/config says about it.

    `jump` is one host or several, comma-separated, in the order of the way; `none` means not even the one of
    ~/.ssh/config. A machine is never reached through itself, so one jump host can stand for all machines.
    """
    config = _config_of(destination)
    hops = jump or str(config.get("ProxyJump") or NO_JUMP)
    direct = hops == NO_JUMP or Destination.parse(hops.split(",")[-1]).host == destination.host
    return Machine(
        name=name,
        address=str(config.get("Hostname", destination.host)),
        user=destination.user or str(config.get("User", default_user)),
        port=destination.port or int(str(config.get("Port", 22))),
        identity_file=key.expanduser() if key else None,
        host_key=host_key,
        ssh_config_name=destination.host,
        jump=None if direct else _through(hops, key),
    )


def configured_key(destination: Destination) -> Path | None:
    """The key that ~/.ssh/config names for a host."""
    keys = _config_of(destination).get("IdentityFile")
    return Path(str(keys[0])) if isinstance(keys, list) and keys else None


def _through(hops: str, key: Path | None) -> Machine:
    *before, last = hops.split(",")
    return machine_at(
        f"jump host {last}",
        Destination.parse(last),
        key=key,
        jump=",".join(before) or None,
        default_user=getpass.getuser(),
    )


def _config_of(destination: Destination) -> SSHClientConfig:
    path = Path.home() / ".ssh" / "config"
    try:
        return SSHClientConfig.load(
            None,
            [path] if path.is_file() else [],
            False,
            False,
            False,
            getpass.getuser(),
            destination.user or (),
            destination.host,
            destination.port or (),
        )  # type: ignore[return-value]  # asyncssh types load() as its base class
    except (OSError, asyncssh.ConfigParseError) as problem:
        raise InputError(f"{path} cannot be read: {problem}") from problem
