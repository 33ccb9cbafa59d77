"""What a machine's image is made of: the packages, and the script that finishes the tree."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

from corral.spec.model import Release

Init = Literal["systemd", "none"]
"""`systemd` boots a whole system; `none` runs sshd alone, as in a rented pod."""

Contents = Literal["slurm", "bare"]
"""`slurm` has Slurm's packages already; `bare` is a fresh Debian with SSH and nothing else of ours."""

DNS_SERVER = "10.0.2.3"
"""Where slirp4netns answers DNS for the guests."""

_SYSTEM = "systemd systemd-sysv dbus libpam-systemd udev kmod openssh-server iproute2 iputils-ping sudo procps"
_SLURM = (
    "curl ca-certificates logrotate slurmctld slurmd slurmdbd slurmrestd slurm-client slurm-wlm-basic-plugins "
    "slurm-wlm-jwt-plugin slurm-wlm-mysql-plugin munge mariadb-server python3 git"
)
# A Python built on this machine is seen by the guests and links to these.
_LIBRARIES = "libffi8 libsqlite3-0 libbz2-1.0 liblzma5 libreadline8 libstdc++6 zlib1g"

# Packages enable every daemon on every machine and make keys that all copies of the image would share:
# what a machine runs and trusts is for the deployment to decide.
_DISABLE = "systemctl disable slurmctld slurmd slurmdbd slurmrestd munge mariadb\n"
_SETUP = f"""
chroot "$1" sh -eu <<'END_OF_SETUP'
{_DISABLE}systemctl enable systemd-networkd ssh
# A test bed that works on its own in the background is neither fast nor repeatable.
systemctl mask apt-daily.timer apt-daily-upgrade.timer fstrim.timer dpkg-db-backup.timer
systemctl mask sshd-keygen.service systemd-networkd-wait-online.service getty@tty1.service
echo 'HostKey /etc/ssh/ssh_host_ed25519_key' > /etc/ssh/sshd_config.d/corral.conf
# Newer daemons lock out an address that connects often without logging in, as health checks do.
mkdir -p /run/sshd
if sshd -T -o PerSourcePenalties=no > /dev/null 2>&1; then
  echo 'PerSourcePenalties no' >> /etc/ssh/sshd_config.d/corral.conf
fi
rm -rf /run/sshd /etc/munge/munge.key /etc/ssh/ssh_host_* /etc/slurm/slurm*.conf /var/log/journal
: > /etc/default/locale
: > /etc/machine-id
rm -f /etc/resolv.conf /etc/hostname
echo 'nameserver {DNS_SERVER}' > /etc/resolv.conf
END_OF_SETUP
"""


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that decides what an image contains; another recipe is another image."""

    release: Release
    init: Init
    contents: Contents = "slurm"

    @property
    def packages(self) -> tuple[str, ...]:
        if self.contents == "bare":
            return tuple(_SYSTEM.split())
        return tuple(f"{_SYSTEM} {_SLURM} {_LIBRARIES}{' supervisor' if self.init == 'none' else ''}".split())

    @property
    def apt_options(self) -> tuple[str, ...]:
        options = ('APT::Install-Recommends "false"', 'Acquire::Languages "none"')
        # Mirrors serve an expired Release file of the release that is still in the making.
        return (*options, 'Acquire::Check-Valid-Until "false"') if self.release == "forky" else options

    @property
    def dpkg_options(self) -> tuple[str, ...]:
        return tuple(f"path-exclude=/usr/share/{unused}/*" for unused in ("man", "doc", "locale"))

    @property
    def setup(self) -> str:
        return _SETUP if self.contents == "slurm" else _SETUP.replace(_DISABLE, "")

    @property
    def name(self) -> str:
        """The image's folder: its release, and a hash of everything that goes into it."""
        ingredients = "\n".join((*self.packages, *self.apt_options, *self.dpkg_options, self.setup))
        digest = hashlib.sha256(ingredients.encode()).hexdigest()[:12]
        kind = ("-bare" if self.contents == "bare" else "") + ("-pod" if self.init == "none" else "")
        return f"{self.release}{kind}-{digest}"
