"""Virtual machines with a kernel of their own, emulated by qemu: for what this machine's kernel lacks, such as NFS.

They live in a network namespace of their own, and end with the process that made them.
"""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from corral.hosts.machine import Machine

MACHINES = ("node0", "node1", "node2")
_MEMORY_MIB = 900
_PROMPT = b"(qemu) "


class Network:
    """A bridge with one cable per machine, in a namespace that nobody else sees."""

    def __init__(self) -> None:
        self.name = f"corral-vm-{os.getpid()}"
        self.namespace = Path("/run/netns") / self.name

    def __enter__(self) -> Network:
        _run("ip", "netns", "add", self.name)
        lines = ["link set lo up", "link add br0 type bridge stp_state 0 forward_delay 0"]
        lines += ["address add 10.78.0.1/24 dev br0", "link set br0 up"]
        for index in range(len(MACHINES)):
            lines += [f"tuntap add tap{index} mode tap", f"link set tap{index} master br0 up"]
        _run("ip", "-n", self.name, "-batch", "-", stdin="\n".join(lines) + "\n")
        return self

    def __exit__(self, *_: object) -> None:
        _run("ip", "netns", "del", self.name)


@dataclass
class Vm:
    """One machine. `image` has the kernel and the keys, `folder` its own disk."""

    name: str
    image: Path
    folder: Path
    network: Network
    _qemu: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def index(self) -> int:
        return MACHINES.index(self.name)

    @property
    def disk(self) -> Path:
        return self.folder / f"{self.name}.qcow2"

    @property
    def machine(self) -> Machine:
        """How the machine is reached, its key pinned."""
        return Machine(
            name=self.name,
            address=f"10.78.0.1{self.index}",
            identity_file=self.image / "id",
            host_key=(self.image / "ssh_host_ed25519_key.pub").read_text().rpartition(" ")[0],
            network_namespace=self.network.namespace,
        )

    def power_on(self, *, asleep: bool = False) -> None:
        """Switch it on: a cold boot, or where it fell asleep."""
        with (self.folder / f"{self.name}.log").open("ab") as log:
            # setpriv: the machine dies with the process that made it.
            self._qemu = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "ip", "netns", "exec", self.network.name, *self._command(asleep)],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def power_off(self) -> None:
        """Pull the cord: nothing on it gets to say goodbye."""
        if self._qemu is not None:
            self._qemu.kill()
            self._qemu.wait(30)
            self._qemu = None

    def plug(self, plugged: bool) -> None:
        """Put the network cable in, or pull it out."""
        self.monitor(f"set_link n0 {'on' if plugged else 'off'}")

    def monitor(self, command: str, *, timeout_s: float = 10) -> str:
        """Give qemu a command; what it answers."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(timeout_s)
            connection.connect(str(self.folder / f"{self.name}.sock"))
            _read_prompt(connection)
            connection.sendall(f"{command}\n".encode())
            return _read_prompt(connection).decode(errors="replace")

    def ssh(self, command: str, *, timeout_s: float = 60, check: bool = True) -> str:
        """Run a shell command on it as root."""
        known = self.folder / "known_hosts"
        if not known.exists():
            known.write_text(f"10.78.0.* {self.machine.host_key}\n")
        options = ("-o", f"UserKnownHostsFile={known}", "-o", "LogLevel=ERROR", "-o", "ConnectTimeout=10")
        argv = ["nsenter", f"--net={self.network.namespace}", "ssh", *options, "-i", str(self.image / "id")]
        done = subprocess.run(
            [*argv, f"root@{self.machine.address}", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        assert not check or done.returncode == 0, f"{self.name}: {command}: exit {done.returncode}:\n{done.stdout}"
        return done.stdout

    def wait_for_boot(self, timeout_s: float) -> None:
        """Wait until it has booted to the end; after that its clock is right."""
        deadline = time.monotonic() + timeout_s
        while True:
            with suppress(AssertionError, subprocess.TimeoutExpired):
                state = self.ssh(f"date -s @{time.time():.0f} >/dev/null; systemctl is-system-running", check=False)
                if state.strip() in ("running", "degraded"):
                    return
            assert time.monotonic() < deadline, f"{self.name} did not boot within {timeout_s:.0f} s"
            time.sleep(0.5)

    def unit_is_active(self, unit: str) -> bool:
        return self.ssh(f"systemctl is-active {unit}", check=False).strip() == "active"

    def run_as(self, user: str, command: str) -> str:
        """Run a shell command on it as somebody else."""
        return self.ssh(f"cd /tmp && runuser -u {user} -- sh -c {shlex.quote(command)}", timeout_s=120)

    def reboot(self, timeout_s: float) -> None:
        """Let it reboot by itself, and return when it answers again; it may still be busy booting."""
        before = self.ssh("cat /proc/sys/kernel/random/boot_id")
        self.ssh("systemctl --no-block reboot", check=False)
        deadline = time.monotonic() + timeout_s
        while True:
            with suppress(AssertionError, subprocess.TimeoutExpired):
                if self.ssh("cat /proc/sys/kernel/random/boot_id") != before:
                    return
            assert time.monotonic() < deadline, f"{self.name} did not come back within {timeout_s:.0f} s"
            time.sleep(1)

    def _command(self, asleep: bool) -> list[str]:
        return [
            *("qemu-system-x86_64", "-name", self.name, *hardware(self.index)),
            *("-kernel", str(self.image / "vmlinuz"), "-initrd", str(self.image / "initrd")),
            *("-drive", f"if=none,id=d0,file={self.disk},format=qcow2,cache=unsafe,discard=unmap"),
            *("-serial", f"file:{self.name}.console", "-monitor", f"unix:{self.name}.sock,server,nowait"),
            *(("-loadvm", "booted") if asleep else ()),
        ]


def hardware(index: int) -> tuple[str, ...]:
    """What a machine is built of; one that fell asleep can only wake up in the same."""
    kernel = f"root=/dev/vda rw console=ttyS0 quiet mitigations=off systemd.machine_id={index + 1:032x}"
    return (
        *("-machine", "q35,usb=off", "-smp", "1", "-m", str(_MEMORY_MIB), "-nodefaults", "-no-user-config"),
        *("-accel", "tcg,thread=multi,tb-size=128", "-cpu", "qemu64,+ssse3,+sse4.1,+sse4.2,+popcnt"),
        *("-display", "none", "-append", kernel, "-device", "virtio-rng-pci", "-device", "virtio-blk-pci,drive=d0"),
        *("-netdev", f"tap,id=n0,ifname=tap{index},script=no,downscript=no"),
        *("-device", f"virtio-net-pci,netdev=n0,mac=52:54:00:78:00:1{index},romfile="),
    )


Machines = dict[str, Vm]


@contextmanager
def awake(image: Path, folder: Path) -> Iterator[Machines]:
    """All machines, woken up on copies of their disks; gone without a trace afterwards."""
    (folder / "base.img").symlink_to(image / "base.img")
    with Network() as network:
        machines = {name: Vm(name, image, folder, network) for name in MACHINES}
        try:
            for name, vm in machines.items():
                _run("cp", "--sparse=always", "--reflink=auto", str(image / f"{name}.qcow2"), str(vm.disk))
                vm.power_on(asleep=True)
            for vm in machines.values():
                vm.wait_for_boot(120)
            yield machines
        finally:
            for vm in machines.values():
                vm.power_off()
                vm.disk.unlink(missing_ok=True)


def works(machines: Machines, user: str) -> bool:
    """Both nodes of the cluster run jobs that see the user's home."""
    job = "cd; timeout 60 srun -N2 sh -c 'test -d ~ && hostname'"
    return sorted(machines["node0"].run_as(user, job).split()) == ["node0", "node1"]


def _read_prompt(connection: socket.socket) -> bytes:
    said = b""
    while not said.endswith(_PROMPT):
        more = connection.recv(65536)
        assert more, f"qemu ended: {said!r}"
        said += more
    return said


def _run(*argv: str, stdin: str = "") -> None:
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{' '.join(argv)}: {done.stderr}"
