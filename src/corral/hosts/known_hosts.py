"""Host keys: the ones that a cluster has pinned, and the ones that the user knows already."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from corral.hosts.machine import Machine


@dataclass(frozen=True, slots=True)
class HostKey:
    """A public key that a machine proved to have."""

    text: str
    """`ssh-ed25519 AAAA…`"""
    fingerprint: str
    """`SHA256:…`, as `ssh-keygen -l` shows it."""

    @property
    def kind(self) -> str:
        return self.text.split(" ", 1)[0]

    @classmethod
    def of(cls, key: asyncssh.SSHKey) -> HostKey:
        kind, blob = key.export_public_key("openssh").decode().split()[:2]
        return cls(f"{kind} {blob}", key.get_fingerprint("sha256"))

    @classmethod
    def of_text(cls, text: str) -> HostKey:
        return cls.of(asyncssh.import_public_key(text))


@dataclass(frozen=True, slots=True)
class KnownHosts:
    """A file in OpenSSH's known_hosts format, shared by our own connections and by ssh itself."""

    path: Path

    @classmethod
    def of_user(cls) -> KnownHosts:
        return cls(Path.home() / ".ssh" / "known_hosts")

    def lines(self, machine: Machine) -> list[int]:
        """The numbers of the lines about a machine, counted from 1."""
        return [number for number, line in enumerate(self._text(), 1) if _keys_in(line, machine)]

    def keys(self, machine: Machine) -> list[asyncssh.SSHKey]:
        return [key for line in self._text() for key in _keys_in(line, machine)]

    def pin(self, machine: Machine, key: HostKey) -> None:
        """Make this the one key of the machine; the file is replaced as a whole and is the owner's only."""
        others = [line for line in self._text() if not _keys_in(line, machine)]
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}")
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:  # noqa: PTH123 (0600 at once)
            file.write("".join(f"{line}\n" for line in [*others, f"{_pattern(machine)} {key.text}"]))
        new.rename(self.path)

    def _text(self) -> list[str]:
        try:
            return self.path.read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return []


def _pattern(machine: Machine) -> str:
    return machine.address if machine.port == 22 else f"[{machine.address}]:{machine.port}"


def _keys_in(line: str, machine: Machine) -> list[asyncssh.SSHKey]:
    """The machine's keys in one line, whose host may be hashed; certificates and revoked keys are not looked at."""
    if not line.strip() or line.lstrip().startswith(("#", "@")):
        return []
    try:
        # The whole pattern as the name: by itself asyncssh would take port 22's key for any other port too.
        return list(asyncssh.import_known_hosts(line).match(_pattern(machine), "", None)[0])
    except ValueError:
        return []
