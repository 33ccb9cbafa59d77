"""What the virtual machines are made of: one disk for all, built once, and each machine asleep right after its boot.

Everything is kept in the image cache under a name that is a hash of the recipe, so a changed recipe is another image.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.vm.vms import MACHINES, Network, Vm, hardware

from corral.providers.local.recipe import Recipe

_RECIPE = Recipe("trixie", "systemd")
_PACKAGES = (
    *_RECIPE.packages,
    *("linux-image-cloud-amd64", "initramfs-tools", "nfs-kernel-server", "nfs-common", "netbase"),
    # They reach no package mirror, so whatever a step may install is there already.
    "systemd-timesyncd",
)
_DISK_SIZE = "4G"
_BUILD_TIMEOUT_S = 1500
_BOOT_TIMEOUT_S = 400

# One image serves all machines: who one is follows from its network card.
_SETUP = """
for number in 0 1 2; do
  printf '[Match]\\nMACAddress=52:54:00:78:00:1%s\\n[Network]\\nAddress=10.78.0.1%s/24\\n' $number $number \\
    > "$1/etc/systemd/network/node$number.network"
done
chroot "$1" sh -c 'umask 077; mkdir -p ~root/.ssh && cat > ~root/.ssh/authorized_keys' < "$KEYS/id.pub"
install -m 600 "$KEYS/ssh_host_ed25519_key" "$KEYS/ssh_host_ed25519_key.pub" "$1/etc/ssh/"
chroot "$1" systemctl unmask systemd-networkd-wait-online
chroot "$1" systemctl enable systemd-networkd-wait-online
chroot "$1" systemctl disable nfs-server rpcbind.socket rpcbind.service
"""


def ensure_image(cache: Path) -> Path:
    """The folder with kernel, disk and sleeping machines, made now if this recipe was never built here."""
    ingredients = (*_PACKAGES, _RECIPE.setup, _SETUP, _DISK_SIZE, *hardware(0))
    digest = hashlib.sha256("\n".join(ingredients).encode()).hexdigest()[:12]
    image = cache / "images" / f"vm-{digest}"
    image.parent.mkdir(parents=True, exist_ok=True)
    with _sole_builder(image):
        if not image.is_dir():
            unfinished = image.with_name(f".{image.name}.building")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(mode=0o700)
            _build(unfinished)
            # Disks name the one below them by its file name alone, so the folder can be renamed.
            unfinished.rename(image)
    return image


@contextmanager
def _sole_builder(image: Path) -> Iterator[None]:
    with image.with_name(f".{image.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(folder: Path) -> None:
    for key in ("id", "ssh_host_ed25519_key"):
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "corral-vm", "-f", str(folder / key))
    tree = folder / "tree"
    _run(
        *("setpriv", "--pdeathsig", "KILL", "env", f"KEYS={folder}"),
        *("unshare", "--mount", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc"),
        *("mmdebstrap", "--mode=root", "--variant=minbase", f"--include={','.join(_PACKAGES)}"),
        *(f"--dpkgopt={option}" for option in _RECIPE.dpkg_options),
        *(f"--aptopt={option}" for option in _RECIPE.apt_options),
        *(f"--customize-hook={_RECIPE.setup}", f"--customize-hook={_SETUP}", _RECIPE.release, str(tree)),
    )
    shutil.copy(next(tree.glob("boot/vmlinuz-*")), folder / "vmlinuz")
    shutil.copy(next(tree.glob("boot/initrd.img-*")), folder / "initrd")
    _run("mke2fs", "-q", "-t", "ext4", "-d", str(tree), str(folder / "base.img"), _DISK_SIZE)
    shutil.rmtree(tree)
    with Network() as network:
        machines = [Vm(name, folder, folder, network) for name in MACHINES]
        try:
            for vm in machines:
                _run("qemu-img", "create", "-q", "-f", "qcow2", "-b", "base.img", "-F", "raw", str(vm.disk))
                vm.power_on()
            for vm in machines:
                vm.wait_for_boot(_BOOT_TIMEOUT_S)
                vm.monitor("savevm booted", timeout_s=120)
        finally:
            for vm in machines:
                vm.power_off()


def _run(*argv: str) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=_BUILD_TIMEOUT_S, check=False)
    assert done.returncode == 0, f"{argv[0]} failed: {done.stderr[-2000:]}"
