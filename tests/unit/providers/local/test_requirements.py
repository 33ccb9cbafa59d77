from __future__ import annotations

import shutil

import pytest

from corral.errors import ProviderError
from corral.providers.local.requirements import check_packages, check_root


def test_all_missing_packages_are_named_in_one_line_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    present = {"ip", "tc", "unshare", "nsenter", "setpriv", "ssh-keygen", "mmdebstrap", "slirp4netns"}
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if name in present else None)
    with pytest.raises(ProviderError, match=r"apt-get install (debian-archive-keyring )?nftables systemd-container$"):
        check_packages()


def test_without_root_the_error_says_sudo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(ProviderError, match="sudo"):
        check_root()
