"""What TCP alone can carry between machines: the physical limit that everything else is compared with.

Every process opens a `Station`, which swallows what is sent to it and echoes pings. `throughput` and `latency` then
ask the station of another one. Several may ask at once: each to its neighbour is the pattern of a ring, two to
each other are both directions of a cable.
"""

from __future__ import annotations

import secrets
import socket
import statistics
import struct
import threading
import time
from contextlib import ExitStack, closing, suppress
from types import TracebackType

STREAMS = 4
"""One stream rarely fills a fast link, and a machine's kernel gives each a share."""

_BLOCK_BYTES = 1 << 18
_PATIENCE_S = 20.0
_HELLO = struct.Struct("!c16sHdd")
"""What a connection begins with: its purpose, its measurement, and that one's streams, ramp and window in seconds."""
_RATE = struct.Struct("!d")
_ASK, _STREAM, _PING = b"A", b"S", b"P"


class _Measurement:
    """The streams of one measurement, as their receiver sees them."""

    def __init__(self) -> None:
        self.streams: list[socket.socket] = []
        self.received: list[int] = []
        self.arrived = threading.Condition()

    def add(self, stream: socket.socket) -> int:
        with self.arrived:
            self.streams.append(stream)
            self.received.append(0)
            self.arrived.notify_all()
            return len(self.streams) - 1

    def rate_bit_s(self, streams: int, ramp_s: float, window_s: float) -> float:
        """Wait for all streams, let them speed up, then count for the length of the window."""
        with self.arrived:
            if not self.arrived.wait_for(lambda: len(self.streams) >= streams, _PATIENCE_S):
                raise TimeoutError("not all streams arrived")
        time.sleep(ramp_s)
        bytes_before, before = sum(self.received), time.perf_counter()
        time.sleep(window_s)
        bytes_after, after = sum(self.received), time.perf_counter()
        return 8 * (bytes_after - bytes_before) / (after - before)

    def end(self) -> None:
        """Hang up, which is what the senders wait for; the threads that read see the end too."""
        for stream in self.streams:
            with suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)


class Station:
    """Where this process can be reached by those who measure; open until it is closed."""

    def __init__(self, address: str = "", port: int = 0) -> None:
        self._server = _server(address, port)
        self.port = int(self._server.getsockname()[1])
        self._measurements: dict[bytes, _Measurement] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Station:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Accept no more; what is being measured goes on."""
        # Closing alone does not wake up the thread that waits in accept.
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), closing(connection):
            connection.settimeout(_PATIENCE_S)
            purpose, name, streams, ramp_s, window_s = _HELLO.unpack(_exactly(connection, _HELLO.size))
            if purpose == _PING:
                _echo(connection)
            elif purpose == _STREAM:
                _swallow(connection, self._measurement(name))
            elif purpose == _ASK:
                measurement = self._measurement(name)
                try:
                    connection.sendall(_RATE.pack(measurement.rate_bit_s(streams, ramp_s, window_s)))
                finally:
                    measurement.end()
                    del self._measurements[name]

    def _measurement(self, name: bytes) -> _Measurement:
        with self._lock:
            return self._measurements.setdefault(name, _Measurement())


def throughput(host: str, port: int, *, streams: int = STREAMS, window_s: float = 1.0, ramp_s: float = 0.25) -> float:
    """Bits per second from here to a station, counted where they arrive."""
    name, block = secrets.token_bytes(16), bytes(_BLOCK_BYTES)

    def send(stream: socket.socket) -> None:
        with suppress(OSError):
            while True:
                stream.sendall(block)

    with ExitStack() as opened:
        for _ in range(streams):
            stream = opened.enter_context(closing(_connect(host, port)))
            stream.sendall(_HELLO.pack(_STREAM, name, streams, ramp_s, window_s))
            threading.Thread(target=send, args=(stream,), daemon=True).start()
        ask = opened.enter_context(closing(_connect(host, port)))
        ask.settimeout(ramp_s + window_s + 2 * _PATIENCE_S)
        ask.sendall(_HELLO.pack(_ASK, name, streams, ramp_s, window_s))
        (rate,) = _RATE.unpack(_exactly(ask, _RATE.size))
    return float(rate)


def latency(host: str, port: int, *, rounds: int = 200) -> float:
    """Seconds that a byte takes to a station: half the median round trip."""
    with closing(_connect(host, port)) as line:
        line.sendall(_HELLO.pack(_PING, secrets.token_bytes(16), 0, 0.0, 0.0))
        trips = []
        for _ in range(rounds):
            before = time.perf_counter()
            line.sendall(b".")
            _exactly(line, 1)
            trips.append(time.perf_counter() - before)
    return statistics.median(trips) / 2


def _server(address: str, port: int) -> socket.socket:
    if address:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return socket.create_server((address, port), family=family, backlog=128)
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=128)
    return socket.create_server(("", port), backlog=128)


def _connect(host: str, port: int) -> socket.socket:
    line = socket.create_connection((host, port), timeout=_PATIENCE_S)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return line


def _echo(line: socket.socket) -> None:
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while byte := line.recv(1):
        line.sendall(byte)


def _swallow(stream: socket.socket, measurement: _Measurement) -> None:
    place = measurement.add(stream)
    room = bytearray(_BLOCK_BYTES)
    while count := stream.recv_into(room):
        measurement.received[place] += count


def _exactly(line: socket.socket, size: int) -> bytes:
    content = b""
    while len(content) < size:
        piece = line.recv(size - len(content))
        if not piece:
            raise ConnectionError("the other side hung up")
        content += piece
    return content
