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
from corral.spec.values import rate_bit_s

GATEWAY = "10.77.0.1"
PREFIX_LENGTH = 24
MAX_GUESTS = 240
GUEST_INTERFACE = "host0"
# The launcher opened them before it left the namespaces they lead to.
_OUTSIDE_NETWORK = Path("/proc/1/fd/9")
_OUTSIDE_MOUNTS = Path("/proc/1/fd/8")
_BRIDGE = "br0"
_UPLINK = "tap0"

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


async def build() -> None:
    """Make the bridge and let guests reach the world through the uplink."""
    await _ip(
        "link set lo up",
        f"link add {_BRIDGE} type bridge",
        f"address add {GATEWAY}/{PREFIX_LENGTH} dev {_BRIDGE}",
        f"link set {_BRIDGE} up",
    )
    # Ask for a guest that boots every 0.1 s rather than every second, ten times rather than three.
    neighbours = Path("/proc/sys/net/ipv4/neigh") / _BRIDGE
    (neighbours / "retrans_time_ms").write_text("100")
    (neighbours / "mcast_solicit").write_text("10")
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


class Cable:
    """A guest's network namespace and the cable that leads from it to the bridge."""

    def __init__(self, guest: str, index: int) -> None:
        self.namespace = Path("/run/netns") / guest
        self.plugged = True
        self._guest = guest
        self._port = f"vb-{guest}"
        self._rate: str | None = None
        # A machine keeps its hardware address: with a new one its peers would talk to the old for half a minute.
        self._hardware_address = f"02:c0:88:a1:00:{index:02x}"
        # A boot lays the cable while an operator may pull it.
        self._one_at_a_time = asyncio.Lock()

    async def lay(self, static_address: str | None) -> None:
        """Start from a fresh namespace, as a machine does at power-on."""
        async with self._one_at_a_time:
            await must("ip", "netns", "add", self._guest)
            await _ip(
                f"link add {self._port} type veth "
                f"peer name {GUEST_INTERFACE} address {self._hardware_address} netns {self._guest}",
                f"link set {self._port} master {_BRIDGE} {self._up_or_down}",
            )
            if static_address is not None:
                await _ip(
                    f"address add {static_address}/{PREFIX_LENGTH} dev {GUEST_INTERFACE}",
                    "link set lo up",
                    f"link set {GUEST_INTERFACE} up",
                    f"route add default via {GATEWAY}",
                    namespace=self._guest,
                )
            await self._shape()

    async def take_away(self) -> None:
        """Remove cable and namespace, if they are there."""
        async with self._one_at_a_time:
            if self.namespace.exists():
                # The cable first: a namespace is emptied only some time after its name is gone.
                await run(["ip", "link", "del", self._port])
                await must("ip", "netns", "del", self._guest)

    async def plug(self, plugged: bool) -> None:
        """Plug it in or pull it out at the bridge, now and for every boot to come."""
        async with self._one_at_a_time:
            self.plugged = plugged
            if self.namespace.exists():
                await _ip(f"link set {self._port} {self._up_or_down}")

    async def limit(self, rate: str | None) -> None:
        """Limit both directions to a rate such as `2.5gbit`, or no longer; now and for every boot to come."""
        async with self._one_at_a_time:
            changed = rate != self._rate
            self._rate = rate
            if changed and self.namespace.exists():
                await self._shape()

    @property
    def _up_or_down(self) -> str:
        return "up" if self.plugged else "down"

    async def _shape(self) -> None:
        for where, device in (((), self._port), (("-n", self._guest), GUEST_INTERFACE)):
            if self._rate is None:
                # There may be no limit to remove.
                await run(["tc", *where, "qdisc", "del", "dev", device, "root"])
            else:
                await must(
                    *("tc", *where, "qdisc", "replace", "dev", device, "root", "tbf"),
                    *("rate", self._rate, "burst", f"{_burst_kib(self._rate)}kb", "latency", "50ms"),
                )


def _burst_kib(rate: str) -> int:
    """Measured: 256 KiB carries 2.5 Gbit/s without retransmits, 64 KiB is right for 100 Mbit/s."""
    bits = rate_bit_s(rate)
    return 64 if bits < 1e9 else 256 * math.ceil(bits / 2.5e9)


async def _ip(*lines: str, namespace: str | None = None) -> None:
    where = ("-n", namespace) if namespace is not None else ()
    await must("ip", *where, "-batch", "-", stdin="\n".join(lines) + "\n")
