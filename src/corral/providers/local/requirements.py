"""What this computer must offer before machines can be made on it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from corral.errors import ProviderError

_PACKAGE_OF = {
    "systemd-nspawn": "systemd-container",
    "mmdebstrap": "mmdebstrap",
    "nft": "nftables",
    "slirp4netns": "slirp4netns",
    "ip": "iproute2",
    "tc": "iproute2",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "ssh-keygen": "openssh-client",
}
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def check_root() -> None:
    """Namespaces, mounts and cgroups are for root alone."""
    if os.geteuid() != 0:
        raise ProviderError("machines on this computer need root: run the command again with sudo")


def check_packages() -> None:
    """Raise one error that lists all that is missing, with the line to type."""
    missing = {package for program, package in _PACKAGE_OF.items() if shutil.which(program) is None}
    if not _KEYRING.exists():
        missing.add("debian-archive-keyring")
    if missing:
        packages = " ".join(sorted(missing))
        raise ProviderError(
            f"machines on this computer need packages that are not installed. Try: apt-get install {packages}"
        )
