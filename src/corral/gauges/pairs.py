"""Every pair of nodes by raw TCP, as a tournament: in a round each node has one opponent, so no pair disturbs another.

`python3 -m corral.gauges.pairs PORT NAME=ADDRESS …`, one process per node, with the same arguments on all.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from corral.gauges import tcp
from corral.gauges.report import tell
from corral.inside.interface import interfaces

_CONNECT_S = 5.0
_PER_ROUND_S = 12.0
"""How much later than its own beginning a node may still be met, for every round: others may have had trouble."""


def rounds(players: Sequence[str]) -> list[list[tuple[str, str]]]:
    """A round-robin by the circle method: everybody meets everybody once; of an odd number one rests in each round."""
    circle: list[str | None] = [*players, *([None] if len(players) % 2 else [])]
    found = []
    for _ in range(len(circle) - 1):
        half = len(circle) // 2
        pairs = zip(circle[:half], reversed(circle[half:]), strict=True)
        found.append([(min(a, b), max(a, b)) for a, b in pairs if a is not None and b is not None])
        circle = [circle[0], circle[-1], *circle[1:-1]]
    return found


class Meeting:
    """Where the opponent of each round arrives; who comes early waits for the round."""

    def __init__(self, address: str, port: int) -> None:
        self._server = socket.create_server((address, port), family=_family(address), backlog=128)
        self._early: dict[str, socket.socket] = {}

    def wait_for(self, name: str, deadline: float) -> socket.socket:
        while name not in self._early:
            self._server.settimeout(max(0.1, deadline - time.monotonic()))
            line, _ = self._server.accept()
            line.settimeout(_PER_ROUND_S)
            self._early[_hear(line)] = line
        return self._early.pop(name)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("window_s", type=float)
    parser.add_argument("nodes", nargs="+", metavar="NAME=ADDRESS")
    wanted = parser.parse_args()
    addresses = dict(node.split("=", 1) for node in wanted.nodes)
    own = os.environ["SLURMD_NODENAME"]
    tell("link", node=own, speed_bit_s=link_speed(addresses[own]))
    # On the cluster's network alone, unless the others know this machine by an address that is not its own.
    address = _numeric(addresses[own])
    address = address if _is_here(address) else ""
    meeting = Meeting(address, wanted.port + 1)
    began = time.monotonic()
    with tcp.Station(address, wanted.port):
        for number, pairs in enumerate(rounds(sorted(addresses)), 1):
            for first, second in pairs:
                if own == first:
                    _lead(own, second, addresses[second], wanted.port, wanted.window_s)
                elif own == second:
                    deadline = began + number * _PER_ROUND_S
                    _follow(meeting, first, addresses[first], wanted.port, wanted.window_s, deadline)


def _lead(own: str, other: str, address: str, port: int, window_s: float) -> None:
    """Measure to the other, then have the other measure back, and tell."""
    try:
        with closing(_reach(address, port + 1)) as line:
            _say(line, own)
            _hear(line)
            latency_s = tcp.latency(address, port)
            there = tcp.throughput(address, port, window_s=window_s)
            _say(line, "your turn")
            back = float(json.loads(_hear(line)))
        tell("pair", a=own, b=other, latency_s=latency_s, there_bit_s=there, back_bit_s=back, problem="")
    except (OSError, ValueError) as problem:
        tell("pair", a=own, b=other, problem=str(problem) or "the connection broke")


def _follow(meeting: Meeting, other: str, address: str, port: int, window_s: float, deadline: float) -> None:
    try:
        with closing(meeting.wait_for(other, deadline)) as line:
            _say(line, "ready")
            _hear(line)
            _say(line, json.dumps(tcp.throughput(address, port, window_s=window_s)))
    except OSError:
        return  # the leader tells


def _reach(address: str, port: int) -> socket.socket:
    """Connect; a process that is not there yet refuses, and is asked again."""
    deadline = time.monotonic() + _CONNECT_S
    while True:
        try:
            line = socket.create_connection((address, port), timeout=_CONNECT_S)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            # The other may still be at an earlier round, which may have had trouble.
            line.settimeout(10 * _PER_ROUND_S)
            return line


def _say(line: socket.socket, text: str) -> None:
    line.sendall(text.encode() + b"\n")


def _hear(line: socket.socket) -> str:
    heard = b""
    while not heard.endswith(b"\n"):
        byte = line.recv(1)
        if not byte:
            raise ConnectionError("the other side hung up")
        heard += byte
    return heard.decode().strip()


def link_speed(address: str) -> float | None:
    """What the interface with this address negotiated; None for virtual ones, whose figure means nothing."""
    for name, held in interfaces():
        folder = Path("/sys/class/net") / name
        if held == _numeric(address) and ((folder / "device").exists() or (folder / "bonding").exists()):
            try:
                mbit = int((folder / "speed").read_text())
            except (OSError, ValueError):
                return None
            return mbit * 1e6 if mbit > 0 else None
    return None


def _is_here(address: str) -> bool:
    try:
        with socket.socket(_family(address), socket.SOCK_STREAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True


def _family(address: str) -> int:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def _numeric(address: str) -> str:
    try:
        return str(socket.getaddrinfo(address, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError:
        return address


if __name__ == "__main__":
    main()
