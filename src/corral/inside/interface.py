"""Which network interface of this machine carries the cluster's traffic."""

from __future__ import annotations

import fcntl
import ipaddress
import socket
import struct
from collections.abc import Iterable
from pathlib import Path

_SIOCGIFADDR = 0x8915  # linux/sockios.h


def towards_cluster(node: str, master: str) -> str | None:
    """The interface that has this node's cluster address, else the one on the way to the job's first node."""
    towards_master = own_address_towards(master)
    for address in [*_addresses_of(node), *([towards_master] if towards_master else [])]:
        if ipaddress.ip_address(address).is_loopback:
            continue  # Debian's installer gives a machine's own name 127.0.1.1
        for name, held in interfaces():
            if held == address:
                return name
    return None


def interfaces() -> Iterable[tuple[str, str]]:
    """Names of interfaces with their addresses: asked of the kernel, because containers often have no `ip`."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            try:
                reply = fcntl.ioctl(probe, _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            except OSError:
                continue  # it has no IPv4 address
            yield name, socket.inet_ntoa(reply[20:24])
    six = Path("/proc/net/if_inet6")
    for line in six.read_text().splitlines() if six.exists() else ():
        digits, *_, name = line.split()
        yield name, str(ipaddress.IPv6Address(int(digits, 16)))


def _addresses_of(name: str) -> list[str]:
    try:
        return [str(found[4][0]) for found in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)] if name else []
    except OSError:
        return []


def own_address_towards(host: str) -> str | None:
    """The address that this machine speaks from to another one."""
    for address in _addresses_of(host):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((address, 9))  # sends nothing; the kernel only picks a route
            except OSError:
                continue
            return str(probe.getsockname()[0])
    return None
