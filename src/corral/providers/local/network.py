"""The cluster's private network: a bridge, a cable to each guest, and a way out that needs no interface.

Everything here runs inside the cluster's own network namespace. Each guest's namespace is made by us rather
than by nspawn: a cable then stays unplugged across a reboot, and its rate is set before the first packet.
"""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

from corral.hosts.local import run, spawn
from corral.providers.local.commands import must

GATEWAY = "10.77.0.1"
PREFIX_LENGTH = 24
MAX_GUESTS = 240
GUEST_INTERFACE = "host0"
# The launcher opened them before it left the namespaces they lead to.
_OUTSIDE_NETWORK = Path("/proc/1/fd/9")
_OUTSIDE_MOUNTS = Path("/proc/1/fd/8")
_BRIDGE = "br0"
_UPLINK = "tap0"
_UNITS_BIT = {"kbit": 10**3, "mbit": 10**6, "gbit": 10**9}

_MASQUERADE = f"""
table ip corral {{
  chain outgoing {{
    type nat hook postrouting priority 100
    ip saddr {GATEWAY}/{PREFIX_LENGTH} oifname "{_UPLINK}" masquerade
  }}
}}
"""


def address(index: int) -> str:
    """The guest's address; an index belongs to a machine for as long as the machine exists."""
    return f"10.77.0.{10 + index}"


def namespace_path(guest: str) -> Path:
    """Where the guest's network namespace can be entered."""
    return Path("/run/netns") / guest


async def build() -> None:
    """Make the bridge and let guests reach the world through the uplink."""
    await _ip(
        "link set lo up",
        f"link add {_BRIDGE} type bridge",
        f"address add {GATEWAY}/{PREFIX_LENGTH} dev {_BRIDGE}",
        f"link set {_BRIDGE} up",
    )
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    await must("nft", "-f", "-", stdin=_MASQUERADE)


async def open_uplink(log: Path) -> asyncio.subprocess.Process:
    """Start slirp4netns: its sockets are in the machine's own network namespace, its tap device in ours.

    It also sees the mounts from before ours, and so the machine's own resolv.conf.
    """
    return await spawn(
        [
            *("nsenter", f"--net={_OUTSIDE_NETWORK}", f"--mount={_OUTSIDE_MOUNTS}"),
            *("slirp4netns", "--configure", "--mtu=1500", "--disable-host-loopback"),
            *("--netns-type=path", "/proc/1/ns/net", _UPLINK),
        ],
        log,
    )


async def attach(guest: str, *, rate: str | None, plugged: bool, static_address: str | None) -> None:
    """Give the guest a fresh namespace and cable, as a machine has after power-on."""
    await detach(guest)
    await must("ip", "netns", "add", guest)
    await _ip(
        f"link add {_port(guest)} type veth peer name {GUEST_INTERFACE} netns {guest}",
        f"link set {_port(guest)} master {_BRIDGE} {'up' if plugged else 'down'}",
    )
    if static_address is not None:
        await must(
            *("ip", "-n", guest, "-batch", "-"),
            stdin=f"address add {static_address}/{PREFIX_LENGTH} dev {GUEST_INTERFACE}\n"
            f"link set lo up\nlink set {GUEST_INTERFACE} up\nroute add default via {GATEWAY}\n",
        )
    await shape(guest, rate)


async def detach(guest: str) -> None:
    """Take the guest's cable and namespace away, if they are there."""
    if namespace_path(guest).exists():
        # The cable first: a namespace is emptied only some time after its name is gone.
        await run(["ip", "link", "del", _port(guest)])
        await must("ip", "netns", "del", guest)


async def plug(guest: str, plugged: bool) -> None:
    """Plug the cable in, or pull it out, at the bridge: the guest sees its carrier go."""
    await _ip(f"link set {_port(guest)} {'up' if plugged else 'down'}")


async def shape(guest: str, rate: str | None) -> None:
    """Limit both directions of the cable, or no longer."""
    ends = ((), _port(guest)), (("-n", guest), GUEST_INTERFACE)
    for where, device in ends:
        if rate is None:
            # There may be no limit to remove.
            await run(["tc", *where, "qdisc", "del", "dev", device, "root"])
        else:
            await must(
                *("tc", *where, "qdisc", "replace", "dev", device, "root"),
                *("tbf", "rate", rate, "burst", f"{_burst_kib(rate)}kb", "latency", "50ms"),
            )


def _burst_kib(rate: str) -> int:
    """Measured: 256 KiB carries 2.5 Gbit/s without retransmits, 64 KiB is right for 100 Mbit/s."""
    bits = float(rate[:-4]) * _UNITS_BIT[rate[-4:]]
    return 64 if bits < 10**9 else 256 * math.ceil(bits / 2.5e9)


def _port(guest: str) -> str:
    return f"vb-{guest}"


async def _ip(*lines: str) -> None:
    await must("ip", "-batch", "-", stdin="\n".join(lines) + "\n")
