"""What a guest finds on its disk when it boots: its name, its address, its keys, its simulated GPUs."""

from __future__ import annotations

import hashlib
from pathlib import Path

from corral.providers.local import network
from corral.providers.local.control import GuestPlan, Plan
from corral.providers.local.python_view import Borrowed

HOST_KEY = "ssh_host_ed25519_key"
INTERPRETERS = "interpreters"
"""Programs that take the place of the interpreters of an environment."""
_NVIDIA_MAJOR = 195
_NETWORK = """[Match]
Name={interface}
[Network]
Address={address}/{prefix}
Gateway={gateway}
IPv6AcceptRA=no
LinkLocalAddressing=no
"""


def furnish_once(root: Path, guest: GuestPlan, plan: Plan, home: Path) -> None:
    """Write what belongs to the machine from its first boot on and is never written again."""
    address = network.address(guest.index)
    # Given rather than left to the first boot: on that, systemd would enable every unit of the image again.
    machine_id = hashlib.sha256(f"{home}:{guest.name}".encode()).hexdigest()[:32]
    _write(root / "etc/machine-id", f"{machine_id}\n", 0o444)
    _write(root / "etc/hostname", f"{guest.name}\n")
    _write(root / "etc/hosts", f"127.0.0.1 localhost\n{address} {guest.name}\n")
    _write(root / "root/.ssh/authorized_keys", f"{plan.authorized_key}\n", 0o600, directory_mode=0o700)
    _write(root / f"etc/ssh/{HOST_KEY}", (home / HOST_KEY).read_text(), 0o600)
    _write(root / f"etc/ssh/{HOST_KEY}.pub", (home / f"{HOST_KEY}.pub").read_text())


def furnish_boot(root: Path, guest: GuestPlan, plan: Plan, home: Path) -> None:
    """Write what follows the cluster file: a changed one takes effect at the next boot."""
    if plan.init == "systemd":
        _write(
            root / "etc/systemd/network/10-corral.network",
            _NETWORK.format(
                interface=network.GUEST_INTERFACE,
                address=network.address(guest.index),
                prefix=network.PREFIX_LENGTH,
                gateway=network.GATEWAY,
            ),
        )
    devices = gpu_devices(plan)
    nodes = (f"c {path} 0666 root root - {major}:{minor}\n" for path, major, minor in devices)
    _write(root / "etc/tmpfiles.d/corral-gpus.conf", "".join(nodes))
    marker = "".join(f"{plan.gpu_type} {path}\n" for path, _, _ in devices)
    _write(root / "etc/corral/simulated-gpus", marker)
    _make_way(root, [target for _, target in python_binds(plan)])
    if (borrowed := _borrowed(plan)) is not None:
        real, *names = borrowed.interpreters
        _write(_inside(root, real), borrowed.program, 0o755)
        for name in names:
            if not _inside(root, name).is_symlink():
                _inside(root, name).symlink_to(real)
        for name in borrowed.environment:
            _write(home / INTERPRETERS / name.name, borrowed.program, 0o755)


def gpu_devices(plan: Plan) -> list[tuple[str, int, int]]:
    """Path, major and minor of each simulated GPU: nothing answers there, which no test of access needs."""
    return [(f"/dev/nvidia{minor}", _NVIDIA_MAJOR, minor) for minor in range(plan.gpus)]


def python_binds(plan: Plan) -> tuple[tuple[Path, Path], ...]:
    """What a guest of this plan sees of Corral's own Python."""
    borrowed = _borrowed(plan)
    return plan.python.binds + (borrowed.binds if borrowed is not None else ())


def environment_folder(plan: Plan) -> Path | None:
    """The folder whose interpreters a guest of this plan has replaced."""
    borrowed = _borrowed(plan)
    return borrowed.environment[0].parent if borrowed is not None and borrowed.environment else None


def _borrowed(plan: Plan) -> Borrowed | None:
    borrowed = plan.python.borrowed
    if borrowed is None or _inside(plan.image, borrowed.interpreters[0]).exists():
        return None
    return borrowed


def _make_way(root: Path, targets: list[Path]) -> None:
    """Let every user through to what is bound: a home such as /root is closed, what we show is not secret."""
    for target in targets:
        for parent in reversed(_inside(root, target).parents):
            if parent.is_relative_to(root) and parent != root:
                parent.mkdir(mode=0o755, exist_ok=True)
                parent.chmod(parent.stat().st_mode | 0o011)


def _inside(root: Path, path: Path) -> Path:
    return root / path.relative_to("/")


def _write(path: Path, text: str, mode: int = 0o644, *, directory_mode: int = 0o755) -> None:
    path.parent.mkdir(mode=directory_mode, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.touch(mode)
    path.write_text(text)
    path.chmod(mode)
